// Reads a stream with Go's net/http and passes it on. A stream that is cut ends the program with an error.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func read(address string, headers []string) error {
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}

func main() {
	if err := read(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
