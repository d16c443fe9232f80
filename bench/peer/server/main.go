// The peer: staging of chat uploads as in the design to beat, with gin and database/sql in front of bytea rows.
// ../README.md describes it and its configurations.
package main

import (
	"context"
	"database/sql"
	"flag"
	"log"
	"net/http"

	"github.com/gin-gonic/gin"
	_ "github.com/lib/pq"
)

type server struct {
	db      *sql.DB
	staging *staging
}

func fail(c *gin.Context, status int, sentence string) {
	c.AbortWithStatusJSON(status, gin.H{"error": sentence})
}

func routes(s *server, accessLog bool) *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	if accessLog {
		engine.Use(gin.Logger())
	}
	engine.Use(gin.Recovery())
	_ = engine.SetTrustedProxies(nil)
	engine.GET("/health", func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"status": "ok"}) })
	workspace := engine.Group("/workspaces/:id", s.authenticate)
	workspace.POST("/chat/uploads", s.upload)
	workspace.GET("/pending-uploads/:fid/content", s.content)
	workspace.POST("/pending-uploads/:fid/ack", s.ack)
	workspace.GET("/activity", s.activity)
	// The design sweeps on a timer only; a benchmark cannot wait for it.
	engine.POST("/bench/sweep", func(c *gin.Context) {
		swept, err := s.staging.sweep(c.Request.Context(), ackRetention)
		if err != nil {
			fail(c, http.StatusInternalServerError, err.Error())
			return
		}
		c.JSON(http.StatusOK, gin.H{"acked": swept.acked, "expired": swept.expired})
	})
	return engine
}

func main() {
	address := flag.String("addr", "127.0.0.1:0", "listen address")
	dsn := flag.String("dsn", "", "lib/pq connection string")
	maxOpen := flag.Int("max-open", 25, "connections to the database, at most")
	maxIdle := flag.Int("max-idle", 5, "connections kept while idle")
	accessLog := flag.Bool("access-log", true, "one line a request")
	flag.Parse()

	db, err := sql.Open("postgres", *dsn)
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(*maxOpen)
	db.SetMaxIdleConns(*maxIdle)
	if err := db.Ping(); err != nil {
		log.Fatal(err)
	}
	s := &server{db: db, staging: &staging{db}}
	go s.staging.sweepForever(context.Background())
	log.Fatal(http.ListenAndServe(*address, routes(s, *accessLog)))
}
