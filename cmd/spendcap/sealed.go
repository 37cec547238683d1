package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/sealed"
	sealeddynamo "github.com/seed3e88d9a2/spendcap/internal/sealed/dynamo"
)

// openedBlock is a block with the address that was sealed for it.
type openedBlock struct {
	control.Block
	Address  string `json:"address,omitempty"`
	unopened bool
}

func (c *controls) sealed() sealed.Store {
	return sealeddynamo.Store{Client: c.deployment.DynamoDB, Table: c.deployment.Table}
}

// opened are the blocks, with their addresses if the file of a private key is given. With
// an error there are those that could be opened, unless none could be looked for.
func (c *controls) opened(ctx context.Context, blocks []control.Block, keyFile string) ([]openedBlock, error) {
	list := make([]openedBlock, len(blocks))
	for i, b := range blocks {
		list[i].Block = b
	}
	if keyFile == "" {
		return list, nil
	}
	key, err := opener(keyFile)
	if err != nil {
		return nil, err
	}
	var unopened []error
	for i, b := range list {
		text, err := c.sealed().Get(ctx, sealed.NameOf(b.Block))
		if err != nil {
			return nil, fmt.Errorf("the address of the block of key %s: %w", b.Key, err)
		}
		if text == nil {
			continue
		}
		if list[i].Address, err = key.Open(text, sealed.NameOf(b.Block)); err != nil {
			list[i].unopened = true
			unopened = append(unopened, fmt.Errorf("the address of the block of key %s: %w", b.Key, err))
		}
	}
	if n := len(unopened); n > 1 {
		return list, fmt.Errorf("%w (and %d more)", unopened[0], n-1)
	}
	return list, errors.Join(unopened...)
}

// seal keeps the address of a caller that was blocked by it, if the file says so.
func (c *controls) seal(ctx context.Context, cfg *config.Config, b control.Block, caller caps.Caller) error {
	if cfg.SealTo == nil || caller.IsZero() {
		return nil
	}
	text, err := cfg.SealTo.Seal(caller.String(), sealed.NameOf(b))
	if err == nil {
		err = c.sealed().Put(ctx, sealed.NameOf(b), text, b.End())
	}
	if err != nil {
		// Not wrapped: what explains an error leaves out what stands before it, and this has to be told.
		return fmt.Errorf("the caller is blocked, and its address could not be sealed: %v", err)
	}
	return nil
}

// eraseFirst erases the sealed addresses of the blocks that have one of the keys, before
// they are taken back: once they are, nothing tells any more that there are addresses. It
// returns the blocks.
func (c *controls) eraseFirst(ctx context.Context, keys []string) ([]control.Block, error) {
	set, err := c.state(ctx)
	if err != nil {
		return nil, err
	}
	blocks := slices.DeleteFunc(set.Blocks, func(b control.Block) bool { return !slices.Contains(keys, b.Key) })
	if err := c.erase(ctx, blocks); err != nil {
		return nil, fmt.Errorf("the caller is still blocked: %w", err)
	}
	return blocks, nil
}

// erase takes the sealed addresses of blocks away.
func (c *controls) erase(ctx context.Context, blocks []control.Block) error {
	for _, b := range blocks {
		if err := c.sealed().Erase(ctx, sealed.NameOf(b), c.now()); err != nil {
			return fmt.Errorf("the sealed address of the block of key %s, if there is one, could not be erased: %w", b.Key, err)
		}
	}
	return nil
}
