// Package python writes the second implementation of a schema: a server in plain Python 3 that needs nothing but the
// standard library. It shares no code with the interpreter of package oracle, so that a suite which passes on both
// says the same thing as the specification, twice. It is also what a perfect agent would have written.
package python
