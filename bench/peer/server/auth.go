package main

import (
	"crypto/sha256"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
)

const bearer = "Bearer "

// authenticate accepts a request if its token belongs to the workspace in its path.
func (s *server) authenticate(c *gin.Context) {
	workspace := c.Param("id")
	if _, err := uuid.Parse(workspace); err != nil {
		fail(c, http.StatusBadRequest, "invalid workspace ID")
		return
	}
	header := c.GetHeader("Authorization")
	if !strings.HasPrefix(header, bearer) {
		fail(c, http.StatusUnauthorized, "missing workspace auth token")
		return
	}
	hash := sha256.Sum256([]byte(strings.TrimSpace(header[len(bearer):])))
	var token, owner string
	err := s.db.QueryRowContext(c.Request.Context(), `
		SELECT t.id, t.workspace_id
		FROM workspace_auth_tokens t JOIN workspaces w ON w.id = t.workspace_id
		WHERE t.token_hash = $1 AND t.revoked_at IS NULL AND w.status != 'removed'`,
		hash[:]).Scan(&token, &owner)
	if err != nil || owner != workspace {
		fail(c, http.StatusUnauthorized, "invalid workspace auth token")
		return
	}
	c.Next()
}
