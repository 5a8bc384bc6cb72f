import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KindRules } from '../kind-rules.ts'
import { customResourceOf } from './custom-resource.ts'

test('new unqualified finalizers of a custom resource get a warning', () => {
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }
  const names = { plural: 'things', kind: 'Thing', singular: 'thing', listKind: 'ThingList' }
  const definition = {
    metadata: { name: 'things.example.com' },
    spec: { group: 'example.com', scope: 'Namespaced', names, versions: [version] },
  }
  const rules = customResourceOf({ definition, version }).rules as unknown as KindRules
  const check = (finalizers: string[], old: string[] | undefined, ...expected: readonly string[]): void => {
    const oldObject = old && { metadata: { finalizers: old } }
    assert.deepEqual(rules.warnings?.({ metadata: { finalizers } }, oldObject), expected)
  }
  const rest = 'to avoid accidental conflicts with other finalizer writers'
  const plain = `metadata.finalizers: "plain": prefer a domain-qualified finalizer name ${rest}`
  const dotted = `metadata.finalizers: "a.b": prefer a domain-qualified finalizer name including a path (/) ${rest}`
  check(['example.com/x', 'orphan'], undefined)
  check(['plain', 'a.b'], undefined, dotted, plain)
  check(['plain', 'a.b'], ['plain'], dotted)
  check(['plain'], ['plain'])
})
