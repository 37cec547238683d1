package status

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/dynamo"
)

// API is what a scan asks of a *dynamodb.Client. Its retries are those of the client.
type API interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// A read is a page of at most 1 MB, before the filter
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html), at half a
// read unit for 4 KB, since it need not be consistent.
const (
	DefaultMaxReads       = 100
	DefaultUnitsPerSecond = 500
	UnitsPerRead          = 128
)

// Reads are what a scan has read so far.
type Reads struct {
	Pages    int     `json:"pages"` // requests that were answered
	Items    int64   `json:"items"` // of all days and kinds, also those that the filter held back
	Units    float64 `json:"units"` // read units
	Complete bool    `json:"-"`     // the whole table was read
}

// scan reads the table.
type scan struct {
	client         API
	table          string
	maxReads       int
	unitsPerSecond int
	progress       func(Reads)
	pause          func(context.Context, time.Duration) error
	now            func() time.Time
}

// each calls yield for every item of the day that counts a budget. broken is how many
// could not be read.
func (s scan) each(ctx context.Context, day caps.Day, yield func(caps.ItemKey, caps.Usage)) (reads Reads, broken int, err error) {
	in := &dynamodb.ScanInput{
		TableName: &s.table,
		// Items of other kinds have no n.
		FilterExpression:          aws.String("contains(k, :day) AND attribute_exists(n)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":day": &types.AttributeValueMemberS{Value: "#" + day.String() + "#"}},
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}
	for {
		started := s.now()
		out, err := s.client.Scan(ctx, in)
		if err != nil {
			return reads, broken, fmt.Errorf("reading the table: %w", err)
		}
		for _, item := range out.Items {
			if key, u, err := dynamo.ReadItem(item); err != nil {
				broken++
			} else {
				yield(key, u)
			}
		}
		units := consumed(out)
		reads.Pages++
		reads.Items += int64(out.ScannedCount)
		reads.Units += units
		reads.Complete = len(out.LastEvaluatedKey) == 0
		s.progress(reads)
		if reads.Complete || reads.Pages >= s.maxReads {
			return reads, broken, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
		rest := time.Duration(units/float64(s.unitsPerSecond)*float64(time.Second)) - s.now().Sub(started)
		if err := s.pause(ctx, rest); err != nil {
			return reads, broken, err
		}
	}
}

// consumed is what a page has cost. An emulator may not tell; then it is a full page,
// if more follow.
func consumed(out *dynamodb.ScanOutput) float64 {
	switch {
	case out.ConsumedCapacity != nil && out.ConsumedCapacity.CapacityUnits != nil:
		return *out.ConsumedCapacity.CapacityUnits
	case len(out.LastEvaluatedKey) > 0:
		return UnitsPerRead
	}
	return 0
}

// pause waits, not at all if d is not positive.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
