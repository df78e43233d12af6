package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const attempts = 8

// retries is the retry policy: send the same bytes again while a response is lost, asks for it, or comes from a gateway that failed.
type retries struct{}

func (retries) Do(request *http.Request) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		if request.GetBody != nil {
			request.Body, _ = request.GetBody()
		}
		response, err := http.DefaultClient.Do(request)
		pause := 100 * time.Millisecond << attempt
		// After an error nobody knows whether the request took effect. Its key makes a retry safe.
		if err == nil {
			var body []byte
			body, err = io.ReadAll(response.Body)
			response.Body = io.NopCloser(bytes.NewReader(body))
			if err == nil && !asks(response, body) {
				return response, nil
			}
			seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
			pause = max(pause, time.Duration(seconds)*time.Second)
		}
		if attempt == attempts {
			return response, err
		}
		time.Sleep(pause + rand.N(pause/2))
	}
}

// asks: a problem of the service says whether it is retryable. Any other refusal is a gateway's.
func asks(response *http.Response, body []byte) bool {
	status := response.StatusCode
	var problem struct{ Retryable *bool }
	switch {
	case status < 400:
		return false
	case json.Unmarshal(body, &problem) == nil && problem.Retryable != nil:
		return *problem.Retryable
	default:
		return status >= 500 || slices.Contains([]int{408, 425, 429}, status) || response.Header.Get("Retry-After") != ""
	}
}
