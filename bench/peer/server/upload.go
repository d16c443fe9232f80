package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
)

const (
	maxBodyBytes   = 50 << 20
	maxFormMemory  = 32 << 20
	maxFiles       = 64
	maxNameLength  = 100
	maxExtension   = 16
	fallbackType   = "application/octet-stream"
	fallbackName   = "file"
	pendingURIForm = "platform-pending:%s/%s"
)

var unsafeCharacters = regexp.MustCompile(`[^a-zA-Z0-9._\-]`)

func sanitise(name string) string {
	base := strings.ReplaceAll(filepath.Base(name), " ", "_")
	base = unsafeCharacters.ReplaceAllString(base, "_")
	if len(base) > maxNameLength {
		extension := ""
		if dot := strings.LastIndex(base, "."); dot >= 0 && len(base)-dot <= maxExtension {
			extension = base[dot:]
		}
		base = base[:maxNameLength-len(extension)] + extension
	}
	if base == "" || base == "." || base == ".." {
		return fallbackName
	}
	return base
}

func mediaType(raw string) string {
	raw = strings.TrimSpace(strings.SplitN(raw, ";", 2)[0])
	if raw == "" {
		return ""
	}
	halves := strings.Split(raw, "/")
	unprintable := func(r rune) bool { return r < 0x21 || r > 0x7e }
	if len(halves) != 2 || halves[0] == "" || halves[1] == "" || strings.IndexFunc(raw, unprintable) >= 0 {
		return fallbackType
	}
	return raw
}

func readPart(part *multipart.FileHeader) ([]byte, error) {
	file, err := part.Open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// items reads every file of the form into memory; false when it has already answered with an error.
func (s *server) items(c *gin.Context) ([]item, bool) {
	if err := c.Request.ParseMultipartForm(maxFormMemory); err != nil {
		fail(c, http.StatusBadRequest, "malformed multipart body")
		return nil, false
	}
	parts := c.Request.MultipartForm.File["files"]
	if len(parts) == 0 || len(parts) > maxFiles {
		fail(c, http.StatusBadRequest, "expected 1..64 'files' parts")
		return nil, false
	}
	items := make([]item, 0, len(parts))
	for _, part := range parts {
		if part.Size > maxFileBytes {
			fail(c, http.StatusRequestEntityTooLarge, "file exceeds per-file cap")
			return nil, false
		}
		content, err := readPart(part)
		if err != nil {
			fail(c, http.StatusBadRequest, "could not read file part")
			return nil, false
		}
		items = append(items, item{content, sanitise(part.Filename), mediaType(part.Header.Get("Content-Type"))})
	}
	return items, true
}

type uploadedFile struct {
	URI       string `json:"uri"`
	Name      string `json:"name"`
	MediaType string `json:"mimeType"`
	Size      int64  `json:"size"`
}

func logArrival(ctx context.Context, tx *sql.Tx, workspace string, id uuid.UUID, it item) (uploadedFile, error) {
	file := uploadedFile{fmt.Sprintf(pendingURIForm, workspace, id), it.name, it.mediaType, int64(len(it.content))}
	body, err := json.Marshal(map[string]interface{}{
		"file_id": id.String(), "name": file.Name, "mimeType": file.MediaType, "size": file.Size, "uri": file.URI})
	if err != nil {
		return file, err
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO activity_logs (workspace_id, activity_type, source_id, target_id, method, summary,
		                           request_body, response_body, duration_ms, status, error_detail)
		VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb, $8::jsonb, $9, $10, $11)`,
		workspace, "a2a_receive", nil, workspace, "chat_upload_receive", "chat_upload_receive: "+it.name,
		string(body), nil, nil, "ok", nil)
	return file, err
}

// stage writes every file row and every activity row in one transaction, or none.
func (s *server) stage(ctx context.Context, workspace string, items []item) ([]uploadedFile, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	ids, err := s.staging.put(ctx, tx, uuid.MustParse(workspace), items)
	if err != nil {
		return nil, err
	}
	files := make([]uploadedFile, 0, len(items))
	for i, it := range items {
		file, err := logArrival(ctx, tx, workspace, ids[i], it)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if err := tx.Commit(); err != nil {
		return nil, err
	}
	for i, it := range items {
		log.Printf("staged %s/%s (file_id=%s size=%d mimetype=%q)", workspace, it.name, ids[i], len(it.content), it.mediaType)
	}
	return files, nil
}

func (s *server) upload(c *gin.Context) {
	ctx, workspace := c.Request.Context(), c.Param("id")
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxBodyBytes)
	var mode string
	row := s.db.QueryRowContext(ctx, `SELECT delivery_mode FROM workspaces WHERE id = $1`, workspace)
	if err := row.Scan(&mode); err != nil {
		fail(c, http.StatusNotFound, "workspace not found")
		return
	}
	if mode != "poll" {
		fail(c, http.StatusUnprocessableEntity, "workspace has no callback URL")
		return
	}
	items, ok := s.items(c)
	if !ok {
		return
	}
	files, err := s.stage(ctx, workspace, items)
	if errors.Is(err, errTooLarge) {
		fail(c, http.StatusRequestEntityTooLarge, "file exceeds per-file cap")
		return
	}
	if err != nil {
		log.Printf("stage failed for %s: %v", workspace, err)
		fail(c, http.StatusInternalServerError, "could not stage files")
		return
	}
	c.JSON(http.StatusOK, gin.H{"files": files})
}
