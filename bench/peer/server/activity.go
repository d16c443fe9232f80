package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
)

const (
	defaultPage = 100
	largestPage = 500
)

func pageSize(c *gin.Context) int {
	wanted, err := strconv.Atoi(c.DefaultQuery("limit", strconv.Itoa(defaultPage)))
	switch {
	case err != nil || wanted <= 0:
		return defaultPage
	case wanted > largestPage:
		return largestPage
	}
	return wanted
}

// activityQuery returns the statement and its arguments; false when it has already answered with an error.
func (s *server) activityQuery(c *gin.Context) (string, []interface{}, bool) {
	workspace := c.Param("id")
	query := `SELECT id, workspace_id, activity_type, source_id, target_id, method, summary,
	                 request_body, response_body, duration_ms, status, error_detail, created_at
	          FROM activity_logs WHERE workspace_id = $1`
	arguments := []interface{}{workspace}
	add := func(condition string, value interface{}) {
		arguments = append(arguments, value)
		query += fmt.Sprintf(condition, len(arguments))
	}
	if wanted := c.Query("type"); wanted != "" {
		add(" AND activity_type = $%d", wanted)
	}
	order := "DESC"
	if since := c.Query("since_id"); since != "" {
		var at time.Time
		err := s.db.QueryRowContext(c.Request.Context(),
			`SELECT created_at FROM activity_logs WHERE id = $1 AND workspace_id = $2`, since, workspace).Scan(&at)
		if errors.Is(err, sql.ErrNoRows) {
			fail(c, http.StatusGone, "since_id cursor not found; omit since_id to reset")
			return "", nil, false
		}
		if err != nil {
			fail(c, http.StatusInternalServerError, "cursor lookup failed")
			return "", nil, false
		}
		add(" AND created_at > $%d", at)
		order = "ASC"
	}
	add(" ORDER BY created_at "+order+" LIMIT $%d", pageSize(c))
	return query, arguments, true
}

func scanActivity(rows *sql.Rows) (map[string]interface{}, error) {
	var id, workspace, kind, status string
	var source, target, method, summary, detail *string
	var request, response []byte
	var duration *int
	var at time.Time
	if err := rows.Scan(&id, &workspace, &kind, &source, &target, &method, &summary, &request, &response,
		&duration, &status, &detail, &at); err != nil {
		return nil, err
	}
	entry := map[string]interface{}{"id": id, "workspace_id": workspace, "activity_type": kind, "source_id": source,
		"target_id": target, "method": method, "summary": summary, "duration_ms": duration, "status": status,
		"error_detail": detail, "created_at": at}
	if request != nil {
		entry["request_body"] = json.RawMessage(request)
	}
	if response != nil {
		entry["response_body"] = json.RawMessage(response)
	}
	return entry, nil
}

func (s *server) activity(c *gin.Context) {
	query, arguments, ok := s.activityQuery(c)
	if !ok {
		return
	}
	rows, err := s.db.QueryContext(c.Request.Context(), query, arguments...)
	if err != nil {
		log.Printf("activity list error for %s: %v", c.Param("id"), err)
		fail(c, http.StatusInternalServerError, "query failed")
		return
	}
	defer rows.Close()
	list := make([]map[string]interface{}, 0)
	for rows.Next() {
		entry, err := scanActivity(rows)
		if err != nil {
			log.Printf("activity scan error: %v", err)
			continue
		}
		list = append(list, entry)
	}
	if rows.Err() != nil {
		fail(c, http.StatusInternalServerError, "query iteration failed")
		return
	}
	c.JSON(http.StatusOK, list)
}
