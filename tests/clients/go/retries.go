package main

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const attempts = 8

// retries is the retry policy: while a response asks for it, or is lost, send the same bytes again.
type retries struct{}

// Do sends the request. 409, 429 and 503 with Retry-After: wait, and send the same bytes. Every other response, a 409 without
// it too: stop.
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
			seconds, absent := strconv.Atoi(response.Header.Get("Retry-After"))
			asks := slices.Contains([]int{409, 429, 503}, response.StatusCode) && absent == nil
			if err == nil && !asks {
				return response, nil
			}
			pause = max(pause, time.Duration(seconds)*time.Second)
		}
		if attempt == attempts {
			return response, err
		}
		time.Sleep(pause)
	}
}
