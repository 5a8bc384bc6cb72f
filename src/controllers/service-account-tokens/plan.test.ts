import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Secret, ServiceAccount } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { planReferences, planToken } from './plan.ts'
import { stored } from '../test-stored.ts'

const account: Stored<ServiceAccount> = stored({ metadata: { namespace: 'here', name: 'web', uid: 'u1' } })

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function secretOf(texts: Readonly<Record<string, string>>, more: Partial<Secret> = {}): Secret {
  const data = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, base64(text)]))
  const annotations = { 'kubernetes.io/service-account.name': 'web' }
  return { metadata: { namespace: 'here', name: 'web-token', annotations }, data, ...more }
}

const whole = { 'token': 'T', 'namespace': 'here', 'ca.crt': 'PEM' }

test('missing fields of a token secret are added, existing ones are kept', () => {
  const check = (
    texts: Readonly<Record<string, string>>,
    expected: { readonly data: Readonly<Record<string, string>>; readonly makesToken: boolean } | string,
    caCertificate: string | undefined = 'PEM',
  ): void => {
    const plan = planToken({ secret: secretOf(texts), account, caCertificate })
    if (typeof expected === 'string') return assert.equal(plan.action, expected)
    assert.ok(plan.action === 'fill')
    const data = Object.fromEntries(
      Object.entries(plan.secret.data ?? {}).map(([name, text]) => [name, Buffer.from(text, 'base64') + '']),
    )
    assert.deepEqual({ data, makesToken: plan.claims !== undefined }, expected)
    assert.equal(plan.secret.metadata.annotations?.['kubernetes.io/service-account.uid'], 'u1')
  }
  check(whole, 'nothing')
  check({}, { data: { 'namespace': 'here', 'ca.crt': 'PEM' }, makesToken: true })
  check({ ...whole, more: 'x' }, 'nothing')
  check({ ...whole, token: '' }, { data: { ...whole, token: '' }, makesToken: true })
  check({ ...whole, namespace: '' }, { data: whole, makesToken: false })
  // An existing `namespace` value is kept, even if it differs.
  check({ ...whole, namespace: 'there' }, 'nothing')
  check({ ...whole, 'ca.crt': 'old' }, { data: whole, makesToken: false })
  check({ token: 'T', namespace: 'here' }, 'nothing', '')
  check({ ...whole, 'ca.crt': 'old' }, 'nothing', '')
})

test('a token names its service account and secret', () => {
  const plan = planToken({ secret: secretOf({}), account, caCertificate: undefined })
  assert.deepEqual(plan.action === 'fill' && plan.claims, {
    'iss': 'kubernetes/serviceaccount',
    'kubernetes.io/serviceaccount/namespace': 'here',
    'kubernetes.io/serviceaccount/secret.name': 'web-token',
    'kubernetes.io/serviceaccount/service-account.name': 'web',
    'kubernetes.io/serviceaccount/service-account.uid': 'u1',
    'sub': 'system:serviceaccount:here:web',
  })
})

test('a token secret without its account is deleted, an immutable one is ignored', () => {
  const settings = { account, caCertificate: 'PEM' }
  assert.deepEqual(planToken({ ...settings, secret: secretOf(whole), account: undefined }), {
    action: 'delete',
  })
  assert.deepEqual(planToken({ ...settings, secret: secretOf({}, { immutable: true }) }), {
    action: 'nothing',
  })
})

test('only the deleted secret is removed from the service account', () => {
  const check = (names: readonly string[], expected: readonly string[] | undefined): void => {
    const secrets = names.map(name => ({ name }))
    const planned = planReferences({ ...account, secrets }, 'gone')
    assert.deepEqual(
      planned.secrets?.map(({ name }) => name),
      expected,
    )
  }
  check(['gone'], undefined)
  check(['a', 'gone', 'b', 'gone'], ['a', 'b'])
  const untouched = { ...account, secrets: [{ name: 'a' }] }
  assert.equal(planReferences(untouched, 'gone'), untouched)
})
