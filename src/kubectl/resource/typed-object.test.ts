import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '#/api/text/json-value.ts'
import { typedObject, validateType } from './typed-object.ts'

const document = (value: JsonValue) => ({ value, source: 'a.yaml' })

test('documents without kind, or with metadata that is no text, are refused', () => {
  const check = (value: JsonValue, problem: string | undefined): void => {
    if (problem === undefined) assert.equal(typedObject(document(value)), value)
    else assert.throws(() => typedObject(document(value)), new Error(`unable to decode "a.yaml": ${problem}`))
  }
  const field = (name: string): string => `Go struct field ObjectMeta.metadata.${name} of type string`
  check({ kind: 'Pod', metadata: { name: 'a', labels: { b: 'c' }, annotations: null } }, undefined)
  check([1], 'json: cannot unmarshal array into Go value of type unstructured.detector')
  check({ a: 1 }, `Object 'Kind' is missing in '{"a":1}'`)
  check({ kind: 'Pod', metadata: { name: true } }, `json: cannot unmarshal bool into ${field('name')}`)
  check(
    { kind: 'Pod', metadata: { labels: { a: 1 } } },
    `json: cannot unmarshal number into ${field('labels')}`,
  )
})

test('validation requires apiVersion and kind', () => {
  const check = (value: JsonValue, problem: string): void => {
    const advice = 'if you choose to ignore these errors, turn validation off with --validate=false'
    const message = `error validating "a.yaml": error validating data: ${problem}; ${advice}`
    assert.throws(() => validateType(document(value)), new Error(message))
  }
  check([1], 'invalid object to validate')
  check({}, '[apiVersion not set, kind not set]')
  check({ apiVersion: 'v1', kind: 1 }, "kind isn't string type")
  assert.doesNotThrow(() => validateType(document({ apiVersion: 'v1', kind: 'Pod' })))
})
