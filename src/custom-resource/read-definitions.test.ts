import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDefinitions } from './read-definitions.ts'

const widget = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { kind: Widget, plural: widgets }
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }]
`

test('definitions are read from documents and lists, other kinds are skipped', () => {
  const kinds = (text: string) => readDefinitions(text).map(({ spec }) => spec.names.kind)
  assert.deepEqual(kinds(widget), ['Widget'])
  assert.deepEqual(kinds(`---\n${widget}---\nkind: ConfigMap\napiVersion: v1\n---\n---\n${widget}`), [
    'Widget',
    'Widget',
  ])
  const list = { kind: 'List', apiVersion: 'v1', items: [{ kind: 'Pod' }, ...readDefinitions(widget)] }
  assert.deepEqual(kinds(JSON.stringify(list)), ['Widget'])
  assert.deepEqual(kinds(''), [])
  assert.deepEqual(kinds('a text'), [])
})

test('an error names the definition and the field', () => {
  const fails = (from: string, to: string, message: RegExp) =>
    assert.throws(() => readDefinitions(widget.replace(from, to)), { message })
  fails(
    'k8s.io/v1',
    'k8s.io/v1beta1',
    /^CustomResourceDefinition "widgets\.example\.com": apiVersion must be /,
  )
  fails(
    'group: example.com',
    'group: ../../etc',
    /"widgets\.example\.com": spec\.group: a lowercase RFC 1123/,
  )
  fails('name: v1', 'name: ..', /spec\.versions\[0\]\.name: a DNS-1035 label/)
  fails('plural: widgets', 'plural: "a b"', /spec\.names\.plural: /)
  fails('kind: Widget', 'kind: "W {"', /spec\.names\.kind: /)
  fails('type: object', 'items: [7]', /openAPIV3Schema\.items of type /)
  fails('versions: [', 'versions: [7, ', /"widgets\.example\.com": .*unmarshal|cannot/)
  fails('spec:', 'other:', /spec\.group: /)
  fails('metadata: {', 'metadata: {{', /^yaml: |line/)
})
