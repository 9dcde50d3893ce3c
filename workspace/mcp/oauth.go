package mcp

import (
	"context"
	"net/http"
	"time"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/workspace/access"
	"waymark/workspace/mcp/session"
)

// signInWithin limits the time that a sign-in's servers may take to answer.
const signInWithin = time.Minute

// login answers POST /api/v0/mcp/servers/{name}/login.
func (s *Service) login(c *httpapi.Call, srv *server) error {
	var body agentapi.LoginMCPServer
	if c.ContentLength != 0 {
		if err := c.Decode(&body); err != nil {
			return err
		}
	}
	access.Note(c.Context(), srv.name)
	if client := body.ClientID != "" || body.ClientSecret != ""; client && (body.ClientID == "" || body.Forget || body.Redirect != "") {
		return s.refused(c, http.StatusBadRequest, "client_id, with or without client_secret, begins to sign in")
	}
	return c.Within(signInWithin, func(ctx context.Context) error {
		if err := srv.judgeNow(ctx); err != nil {
			return err
		}
		f := srv.look()
		switch {
		case f.judged == nil || f.judged.expanded == nil || f.judged.expanded.URL == "":
			return s.refused(c, http.StatusConflict, "it isn't a server that is dialed: there is nobody to sign in to")
		case f.judged.outcome != "":
			return s.refused(c, http.StatusConflict, f.judged.why)
		}
		return s.signIn(ctx, c, srv, f.judged, &body)
	})
}

// signIn starts a sign-in, completes one, or forgets it.
func (s *Service) signIn(ctx context.Context, c *httpapi.Call, srv *server, j *judgement, body *agentapi.LoginMCPServer) error {
	address := j.expanded.URL
	switch {
	case body.Forget:
		if err := s.oauth.Forget(address); err != nil {
			return err
		}
		srv.want(func(w *wants) { w.restart = true })
		return c.JSON(http.StatusOK, agentapi.MCPLogin{Done: true})
	case body.Redirect != "":
		login := s.oauth.Login(address)
		if login == nil {
			return s.refused(c, http.StatusConflict, "no sign-in goes on: begin one")
		}
		if err := login.Finish(ctx, body.Redirect); err != nil {
			return s.refused(c, http.StatusBadGateway, srv.describe(err))
		}
		_ = srv.ask(ctx, func(w *wants) { w.refresh = true }) // the outcome is reported elsewhere
		return c.JSON(http.StatusOK, agentapi.MCPLogin{Done: true})
	}
	if body.ClientSecret != "" {
		srv.hide(body.ClientSecret)
	}
	login, err := s.oauth.Begin(ctx, address, j.header(), session.Client{ID: body.ClientID, Secret: body.ClientSecret})
	if err != nil {
		return s.refused(c, http.StatusBadGateway, srv.describe(err))
	}
	s.gone.Go(func() { // Close cancels it
		<-login.Done()
		if login.Err() == nil {
			srv.want(func(w *wants) { w.refresh = true })
		}
	})
	return c.JSON(http.StatusOK, agentapi.MCPLogin{URL: login.URL})
}

// header returns the headers that the entry configures.
func (j *judgement) header() http.Header {
	header := make(http.Header)
	for name, value := range j.expanded.Headers {
		header.Set(name, value)
	}
	return header
}
