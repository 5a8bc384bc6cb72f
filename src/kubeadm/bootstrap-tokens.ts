/** Creates, lists and deletes the bootstrap tokens of a cluster. */
import { isApiError } from '#/api/errors.ts'
import { secrets } from '#/api/generated/core/v1-resources.ts'
import type { Secret } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import {
  bootstrapTokenId,
  bootstrapTokenIdPattern,
  bootstrapTokenPattern,
  bootstrapTokenSecret,
  bootstrapTokenSecretName,
  readBootstrapTokenSecret,
  type BootstrapToken,
} from './bootstrap-token.ts'

/** Rejects when a token with this ID exists. */
export async function createBootstrapToken(client: Client, token: BootstrapToken): Promise<Stored<Secret>> {
  try {
    return await client.create(secrets, bootstrapTokenSecret(token))
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
    throw new Error(`a token with id ${JSON.stringify(token.id)} already exists`, { cause: error })
  }
}

export interface BootstrapTokens {
  readonly tokens: readonly BootstrapToken[]
  /** One line for each Secret that is not a valid token. */
  readonly problems: readonly string[]
}

export async function listBootstrapTokens(client: Client): Promise<BootstrapTokens> {
  const { items } = await client.listAll(secrets, {
    namespace: 'kube-system',
    fieldSelector: 'type=bootstrap.kubernetes.io/token',
  })
  const read = items.map(readBootstrapTokenSecret)
  return {
    tokens: read.filter(each => typeof each !== 'string'),
    problems: read.filter(each => typeof each === 'string'),
  }
}

/** Takes a token or its ID, and returns the ID. Rejects when there is no such token. */
export async function deleteBootstrapToken(client: Client, text: string): Promise<string> {
  const id = bootstrapTokenId(text)
  if (id === undefined) {
    const patterns = [bootstrapTokenPattern, bootstrapTokenIdPattern].map(each => JSON.stringify(each))
    throw new Error(`given token didn't match pattern ${patterns.join(' or ')}`)
  }
  try {
    await client.delete(secrets, { namespace: 'kube-system', name: bootstrapTokenSecretName(id) })
    return id
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
    throw new Error(`cannot delete bootstrap token ${id}: there is no token with this ID`, { cause: error })
  }
}
