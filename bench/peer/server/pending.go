package main

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
)

// lookup reads the whole row, content included; false when it has already answered with an error.
func (s *server) lookup(c *gin.Context) (row, bool) {
	id, err := uuid.Parse(c.Param("fid"))
	if err != nil {
		fail(c, http.StatusBadRequest, "invalid file_id")
		return row{}, false
	}
	found, err := s.staging.get(c.Request.Context(), id)
	if errors.Is(err, errNotFound) {
		fail(c, http.StatusNotFound, "pending upload not found, expired, or already acked")
		return row{}, false
	}
	if err != nil {
		log.Printf("get(%s) failed: %v", id, err)
		fail(c, http.StatusInternalServerError, "storage error")
		return row{}, false
	}
	if found.workspace.String() != c.Param("id") {
		log.Printf("workspace mismatch caller=%s row=%s file_id=%s", c.Param("id"), found.workspace, id)
		fail(c, http.StatusNotFound, "pending upload not found")
		return row{}, false
	}
	return found, true
}

func (s *server) content(c *gin.Context) {
	file, ok := s.lookup(c)
	if !ok {
		return
	}
	mediaType := file.mediaType
	if mediaType == "" {
		mediaType = fallbackType
	}
	c.Header("Content-Type", mediaType)
	c.Header("Content-Disposition", fmt.Sprintf(`attachment; filename="%s"`, file.name))
	c.Header("Content-Length", strconv.FormatInt(file.size, 10))
	c.Status(http.StatusOK)
	if _, err := c.Writer.Write(file.content); err != nil {
		log.Printf("write failed for %s: %v", file.id, err)
		return
	}
	if err := s.staging.markFetched(c.Request.Context(), file.id); err != nil {
		log.Printf("mark_fetched(%s) failed: %v", file.id, err)
	}
	log.Printf("fetched %s/%s size=%d", file.workspace, file.id, file.size)
}

func (s *server) ack(c *gin.Context) {
	file, ok := s.lookup(c)
	if !ok {
		return
	}
	err := s.staging.ack(c.Request.Context(), file.id)
	if errors.Is(err, errNotFound) {
		c.JSON(http.StatusOK, gin.H{"acked": true, "raced": true})
		return
	}
	if err != nil {
		fail(c, http.StatusInternalServerError, "storage error")
		return
	}
	log.Printf("acked %s/%s", file.workspace, file.id)
	c.JSON(http.StatusOK, gin.H{"acked": true})
}
