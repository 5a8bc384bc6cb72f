import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Secret } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { stored } from '../testdata/objects.ts'
import { pullCredentials, PullSecretError } from './pull-credentials.ts'

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function secret(type: 'dockerconfigjson' | 'dockercfg', content: unknown, name = 'it'): Stored<Secret> {
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  return stored({
    metadata: { namespace: 'default', name, uid: `uid-${name}` },
    type: `kubernetes.io/${type}`,
    data: { [`.${type}`]: base64(text) },
  })
}

function found(secrets: readonly Stored<Secret>[], repository: string): string {
  return pullCredentials(secrets, repository)
    .map(({ username, password, source }) => `${source.name}/${username}:${password}`)
    .join(' ')
}

test('dockerconfigjson and dockercfg secrets are parsed', () => {
  const auths = { 'quay.io': { auth: base64('me:se:cret') }, 'other.io': { username: 'you', password: 'x' } }
  const json = secret('dockerconfigjson', { auths })
  const old = secret('dockercfg', auths, 'old')
  assert.equal(found([json], 'quay.io/a'), 'it/me:se:cret')
  assert.equal(found([json, old], 'other.io/a'), 'it/you:x old/you:x')
  assert.equal(found([json], 'elsewhere.io/a'), '')
  assert.equal(found([{ ...json, type: 'Opaque' }], 'quay.io/a'), '')
  assert.equal(found([secret('dockerconfigjson', {})], 'quay.io/a'), '')
  const empty = stored({ metadata: { name: 'empty' }, type: 'kubernetes.io/dockercfg' })
  assert.equal(found([empty], 'quay.io/a'), '')
})

test('the most specific credentials are tried first', () => {
  const auths = Object.fromEntries(
    ['quay.io', 'quay.io/me/it', 'quay.io/me', 'other.io'].map(key => [key, { username: key, password: '' }]),
  )
  const json = secret('dockerconfigjson', { auths })
  assert.equal(found([json], 'quay.io/me/it'), 'it/quay.io/me/it: it/quay.io/me: it/quay.io:')
  assert.equal(found([json], 'quay.io/you'), 'it/quay.io:')
})

test('Docker Hub aliases match its registry', () => {
  const auths = { 'https://index.docker.io/v1/': { username: 'hub', password: '' } }
  const json = secret('dockerconfigjson', { auths })
  assert.equal(found([json], 'docker.io/library/busybox'), 'it/hub:')
  assert.equal(found([json], 'quay.io/library/busybox'), '')
  const named = secret(
    'dockerconfigjson',
    { auths: { 'docker.io': { username: 'me', password: '' } } },
    'named',
  )
  assert.equal(found([json, named], 'docker.io/library/busybox'), 'named/me:')
})

test('an invalid pull secret is rejected without showing its content', () => {
  for (const content of [
    'secret text',
    '[]',
    '"x"',
    { auths: [] },
    { auths: { 'a.io': 1 } },
    { auths: { 'a.io': { auth: base64('none') } } },
  ]) {
    assert.throws(
      () => found([secret('dockerconfigjson', content)], 'a.io/b'),
      error =>
        error instanceof PullSecretError &&
        !error.message.includes('secret text') &&
        error.message.includes('it'),
      JSON.stringify(content),
    )
  }
})

test('credentials are compared by hash', () => {
  const of = (password: string, name?: string): string => {
    const auths = { 'a.io': { username: 'me', password } }
    return pullCredentials([secret('dockerconfigjson', { auths }, name)], 'a.io/b')[0]?.hash ?? ''
  }
  assert.equal(of('x'), of('x', 'other'))
  assert.notEqual(of('x'), of('y'))
  assert.match(of('x'), /^[0-9a-f]{64}$/)
})
