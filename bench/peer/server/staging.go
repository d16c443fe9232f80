package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"
)

const (
	maxFileBytes  = 25 << 20
	ackRetention  = time.Hour
	sweepInterval = 5 * time.Minute
	sweepDeadline = 30 * time.Second
)

var (
	errNotFound = errors.New("not found, expired, or already acked")
	errTooLarge = errors.New("content exceeds per-file cap")
)

type row struct {
	id, workspace uuid.UUID
	content       []byte
	name          string
	mediaType     string
	size          int64
	createdAt     time.Time
	expiresAt     time.Time
	fetchedAt     *time.Time
	ackedAt       *time.Time
}

type item struct {
	content         []byte
	name, mediaType string
}

// staging is the design's storage of staged uploads: its SQL, one statement for each operation.
type staging struct{ db *sql.DB }

func (s *staging) put(ctx context.Context, tx *sql.Tx, workspace uuid.UUID, items []item) ([]uuid.UUID, error) {
	for i, it := range items {
		switch {
		case len(it.content) == 0:
			return nil, fmt.Errorf("item %d: empty content", i)
		case len(it.content) > maxFileBytes:
			return nil, errTooLarge
		case it.name == "" || len(it.name) > maxNameLength:
			return nil, fmt.Errorf("item %d: bad filename", i)
		}
	}
	ids := make([]uuid.UUID, 0, len(items))
	for i, it := range items {
		var id uuid.UUID
		err := tx.QueryRowContext(ctx, `
			INSERT INTO pending_uploads (workspace_id, content, size_bytes, filename, mimetype)
			VALUES ($1, $2, $3, $4, $5) RETURNING file_id`,
			workspace, it.content, int64(len(it.content)), it.name, it.mediaType).Scan(&id)
		if err != nil {
			return nil, fmt.Errorf("insert of item %d: %w", i, err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (s *staging) get(ctx context.Context, id uuid.UUID) (row, error) {
	var r row
	err := s.db.QueryRowContext(ctx, `
		SELECT file_id, workspace_id, content, filename, mimetype,
		       size_bytes, created_at, fetched_at, acked_at, expires_at
		FROM pending_uploads
		WHERE file_id = $1 AND acked_at IS NULL AND expires_at > now()`, id).Scan(
		&r.id, &r.workspace, &r.content, &r.name, &r.mediaType,
		&r.size, &r.createdAt, &r.fetchedAt, &r.ackedAt, &r.expiresAt)
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, errNotFound
	}
	return r, err
}

func (s *staging) markFetched(ctx context.Context, id uuid.UUID) error {
	done, err := s.db.ExecContext(ctx, `
		UPDATE pending_uploads SET fetched_at = now()
		WHERE file_id = $1 AND acked_at IS NULL AND expires_at > now()`, id)
	if err != nil {
		return err
	}
	if count, err := done.RowsAffected(); err != nil || count > 0 {
		return err
	}
	return errNotFound
}

func (s *staging) ack(ctx context.Context, id uuid.UUID) error {
	done, err := s.db.ExecContext(ctx, `
		UPDATE pending_uploads SET acked_at = now()
		WHERE file_id = $1 AND acked_at IS NULL AND expires_at > now()`, id)
	if err != nil {
		return err
	}
	if count, err := done.RowsAffected(); err != nil || count > 0 {
		return err
	}
	// Already acked is a success, absent or expired is not.
	var at sql.NullTime
	err = s.db.QueryRowContext(ctx,
		`SELECT acked_at FROM pending_uploads WHERE file_id = $1 AND expires_at > now()`, id).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return errNotFound
	}
	return err
}

type swept struct{ acked, expired int }

func (s *staging) sweep(ctx context.Context, retention time.Duration) (swept, error) {
	var done swept
	err := s.db.QueryRowContext(ctx, `
		WITH deleted AS (
			DELETE FROM pending_uploads
			WHERE (acked_at IS NOT NULL AND acked_at < now() - make_interval(secs => $1))
			   OR (acked_at IS NULL AND expires_at < now())
			RETURNING (acked_at IS NOT NULL) AS was_acked
		)
		SELECT COALESCE(SUM(CASE WHEN was_acked THEN 1 ELSE 0 END), 0)::int AS acked,
		       COALESCE(SUM(CASE WHEN NOT was_acked THEN 1 ELSE 0 END), 0)::int AS expired
		FROM deleted`, int64(retention.Seconds())).Scan(&done.acked, &done.expired)
	return done, err
}

func (s *staging) sweepForever(ctx context.Context) {
	for {
		limited, cancel := context.WithTimeout(ctx, sweepDeadline)
		done, err := s.sweep(limited, ackRetention)
		cancel()
		if err != nil {
			log.Printf("sweep failed: %v", err)
		} else if done.acked+done.expired > 0 {
			log.Printf("swept acked=%d expired=%d", done.acked, done.expired)
		}
		time.Sleep(sweepInterval)
	}
}
