package deployment

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/hmackey"
	hmacsecret "github.com/seed3e88d9a2/spendcap/internal/hmackey/secretsmanager"
	"github.com/seed3e88d9a2/spendcap/originlock/secretsmanager"
)

// The processes of a local system share the secret of the caller keys in this item, or
// they would count the same viewer apart. That is for one machine only; a deployment's
// secret never is where the counts are.
const (
	localKeyItem      = "dev#hmac-key"
	localKeyAttribute = "hmacKey"
)

// ShareLocalKey keeps the secret that the first process drew in the table of a local
// system, and returns it.
func ShareLocalKey(ctx context.Context, client *dynamodb.Client, table, drawn string) (string, error) {
	out, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &table,
		Key:                       map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: localKeyItem}},
		UpdateExpression:          aws.String("SET " + localKeyAttribute + " = if_not_exists(" + localKeyAttribute + ", :drawn)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":drawn": &types.AttributeValueMemberS{Value: drawn}},
		ReturnValues:              types.ReturnValueAllNew,
	})
	if err != nil {
		return "", err
	}
	key, ok := out.Attributes[localKeyAttribute].(*types.AttributeValueMemberS)
	if !ok {
		return "", errors.New("the table's HMAC key cannot be read: set SPENDCAP_HMAC_KEY")
	}
	return key.Value, nil
}

// Keyer turns addresses into the caller keys of the deployment, on this machine. The
// secret comes from SPENDCAP_HMAC_KEY, or else from Secrets Manager, or from the table
// of a local system.
func (d *Deployment) Keyer(ctx context.Context) (*caps.Keyer, error) {
	secret, err := d.hmacKey(ctx)
	if err != nil {
		return nil, err
	}
	return hmackey.NewKeyer(secret)
}

func (d *Deployment) hmacKey(ctx context.Context) (string, error) {
	secrets, err := config.ReadSecrets(func(name string) (string, bool) {
		if name != config.HMACKeyVar {
			return "", false
		}
		return d.options.Lookup(name)
	})
	switch {
	case err != nil:
		return "", err
	case !secrets.HMACKeyDrawn:
		return secrets.HMACKey, nil
	case d.options.Endpoint != "":
		return d.localKey(ctx)
	}
	id, err := d.hmacSecretID(ctx)
	if err != nil {
		return "", fmt.Errorf("the secret of the caller keys (%s or --hmac-secret do without the stack): %w", config.HMACKeyVar, err)
	}
	return secretsmanager.Read(ctx, sm.NewFromConfig(d.aws), id)
}

func (d *Deployment) hmacSecretID(ctx context.Context) (string, error) {
	if id := d.options.HMACSecret; id != "" {
		return id, nil
	}
	return d.output(ctx, "HmacSecret")
}

// HMACSecret is where the secret of the caller keys is kept. A local system has none
// that could be changed while it runs.
func (d *Deployment) HMACSecret(ctx context.Context) (hmacsecret.Secret, error) {
	if d.options.Endpoint != "" {
		return hmacsecret.Secret{}, errors.New("--dynamodb-endpoint is a system on this machine, which reads its secret when it starts: give it a ring in SPENDCAP_HMAC_KEY")
	}
	id, err := d.hmacSecretID(ctx)
	if err != nil {
		return hmacsecret.Secret{}, fmt.Errorf("the secret of the caller keys (--hmac-secret does without the stack): %w", err)
	}
	return hmacsecret.Secret{API: sm.NewFromConfig(d.aws), ID: id}, nil
}

func (d *Deployment) localKey(ctx context.Context) (string, error) {
	out, err := d.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &d.Table,
		Key:            map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: localKeyItem}},
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return "", err
	}
	key, ok := out.Item[localKeyAttribute].(*types.AttributeValueMemberS)
	if !ok {
		return "", fmt.Errorf("the table has no secret of the caller keys: set %s to the one that the system has", config.HMACKeyVar)
	}
	return key.Value, nil
}
