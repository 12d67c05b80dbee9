// Package view shows studies in a browser on this machine: studies, the heat map of one, its episodes, turns and
// attempts with failing checks and verdicts. Pages are made on the server and read data episode by episode; a little
// script adds keys and follows a study that is running. Everything that comes from a run is shown as text.
package view
