import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DecodeError } from './decode-error.ts'
import type { JsonValue } from '../text/json-value.ts'
import { readTypeMeta, requireTypeMeta } from './type-meta.ts'

function refuses(run: () => unknown, message: RegExp): void {
  assert.throws(run, (error: unknown) => error instanceof DecodeError && message.test(error.message))
}

test('apiVersion and kind are read, and empty if absent', () => {
  const typeMeta = { apiVersion: 'apps/v1', kind: 'Deployment' }
  assert.deepEqual(readTypeMeta({ ...typeMeta, spec: {} }), typeMeta)
  const silent: JsonValue[] = [null, {}, { kind: null }]
  for (const value of silent) assert.deepEqual(readTypeMeta(value), { apiVersion: '', kind: '' })
  const inherited = JSON.parse('{"__proto__":{"kind":"Evil"}}') as Record<string, never>
  assert.equal(readTypeMeta(inherited).kind, '')
})

test('values that are not objects have no TypeMeta', () => {
  for (const value of [1, 'x', true, [], 1n]) {
    refuses(() => readTypeMeta(value), /json: cannot unmarshal \w+ into Go value/)
  }
  refuses(() => readTypeMeta({ kind: {} }), /unmarshal object into Go struct field \.kind of type string$/)
  refuses(() => readTypeMeta({ apiVersion: 'a/b/c' }), /^unexpected GroupVersion string: a\/b\/c$/)
})

test('a manifest requires apiVersion and kind', () => {
  refuses(() => requireTypeMeta({ apiVersion: 'v1' }, '{}'), /^Object 'Kind' is missing in '{}'$/)
  refuses(() => requireTypeMeta({ kind: 'Pod' }, '{}'), /^Object 'apiVersion' is missing in '{}'$/)
  refuses(() => requireTypeMeta({}, 'x'.repeat(1_000_000)), /^.{1000,1100}$/)
  assert.deepEqual(requireTypeMeta({ apiVersion: 'v1', kind: 'Pod' }, ''), { apiVersion: 'v1', kind: 'Pod' })
})
