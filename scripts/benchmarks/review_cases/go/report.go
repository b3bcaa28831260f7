package jobs

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Summary counts the results of one run.
type Summary struct {
	Name          string
	Done, Failed  int
	SlowestMillis int64
}

// Rate is the share of jobs that were done, 0 if there were none.
func (s Summary) Rate() float64 {
	if s.Done+s.Failed == 0 {
		return 0
	}
	return float64(s.Done) / float64(s.Done+s.Failed)
}

// Save writes a summary into the folder; the name may not lead out of it.
func Save(folder string, s Summary) (err error) {
	if s.Name == "" || strings.ContainsAny(s.Name, `/\`) {
		return fmt.Errorf("%q is no name of a file", s.Name)
	}
	file, err := os.Create(filepath.Join(folder, s.Name+".txt"))
	if err != nil {
		return err
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
	}()
	_, err = fmt.Fprintf(file, "%s: %d done, %d failed\n", s.Name, s.Done, s.Failed)
	return err
}

// Slowest returns the names of the slowest runs, at most limit.
func Slowest(db *sql.DB, user string, limit int) ([]string, error) {
	rows, err := db.Query("SELECT name FROM run WHERE owner = ? ORDER BY millis DESC LIMIT ?", user, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names := []string{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// Merge adds summaries of the same name.
func Merge(all []Summary) map[string]Summary {
	merged := make(map[string]Summary, len(all))
	for _, one := range all {
		sum := merged[one.Name]
		sum.Name = one.Name
		sum.Done += one.Done
		sum.Failed += one.Failed
		sum.SlowestMillis = max(sum.SlowestMillis, one.SlowestMillis)
		merged[one.Name] = sum
	}
	return merged
}
