// Package jobs runs jobs from a queue that is kept in memory.
package jobs

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrFull is returned by Push when the queue has reached its limit.
var ErrFull = errors.New("the queue is full")

// Job is one piece of work; Attempts counts how often it was started.
type Job struct {
	ID       string
	Attempts int
	Run      func(ctx context.Context) error
}

// Queue holds jobs in their order. It may be used by several goroutines.
type Queue struct {
	mu    sync.Mutex
	jobs  []*Job
	limit int
}

func NewQueue(limit int) *Queue {
	return &Queue{limit: limit}
}

func (q *Queue) Push(job *Job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) >= q.limit {
		return ErrFull
	}
	q.jobs = append(q.jobs, job)
	return nil
}

// Pop returns the oldest job, nil if there is none.
func (q *Queue) Pop() *Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) == 0 {
		return nil
	}
	job := q.jobs[0]
	q.jobs = q.jobs[1:]
	return job
}

func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.jobs)
}

// Delay is how long to wait before an attempt: it doubles, up to a minute.
func Delay(attempts int) time.Duration {
	if attempts > 5 {
		return time.Minute
	}
	return time.Second << attempts
}

// Work runs all jobs, each up to three times, and returns how many failed for good.
func Work(ctx context.Context, queue *Queue, timeout time.Duration) (int, error) {
	failed := 0
	for job := queue.Pop(); job != nil; job = queue.Pop() {
		if err := ctx.Err(); err != nil {
			return failed, err
		}
		job.Attempts++
		limited, cancel := context.WithTimeout(ctx, timeout)
		err := job.Run(limited)
		cancel()
		if err == nil {
			continue
		}
		if job.Attempts >= 3 {
			failed++
			continue
		}
		if err := queue.Push(job); err != nil {
			return failed, err
		}
	}
	return failed, nil
}
