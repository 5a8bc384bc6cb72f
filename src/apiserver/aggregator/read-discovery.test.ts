import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '#/api/text/json-value.ts'
import { readGroupDiscoveryList, readResourceList } from './read-discovery.ts'

const home = { group: 'wardle.example.com', version: 'v1alpha1' }

const flunders = {
  resource: 'flunders',
  responseKind: { group: 'wardle.example.com', version: 'v1alpha1', kind: 'Flunder' },
  scope: 'Namespaced',
  singularResource: 'flunder',
  verbs: ['get', 'list'],
  shortNames: ['fl'],
  subresources: [
    { subresource: 'status', responseKind: { group: '', version: '', kind: 'Flunder' }, verbs: ['get'] },
  ],
}

test('only the resources of the own group version are read from aggregated discovery', () => {
  const check = (versions: JsonValue, expected: readonly object[]): void => {
    const items = [
      { metadata: { name: 'apps' }, versions: [{ version: 'v1alpha1', resources: [flunders] }] },
      { metadata: { name: 'wardle.example.com' }, versions },
    ]
    assert.deepEqual(readGroupDiscoveryList({ items }, home), expected)
  }
  check([{ version: 'v1alpha1', resources: [flunders] }], [flunders])
  check([{ version: 'v1beta1', resources: [flunders] }], [])
  const { responseKind: _kind, subresources: _subresources, ...rest } = flunders
  const bare = { ...rest, responseKind: { group: '', version: '', kind: '' } }
  check([{ version: 'v1alpha1', resources: [{ ...rest, subresources: [{}, 3, null], extra: 1 }] }], [bare])
  check(
    [{ version: 'v1alpha1', resources: [{ resource: '' }, 'x', null, { resource: 'a'.repeat(300) }] }],
    [],
  )
  const many = Array.from({ length: 5_000 }, (_, index) => ({ resource: `r${index}` }))
  assert.equal(
    readGroupDiscoveryList(
      { items: [{ metadata: { name: home.group }, versions: [{ version: home.version, resources: many }] }] },
      home,
    ).length,
    1_000,
  )
})

test('malformed discovery documents have no resources', () => {
  const documents: readonly JsonValue[] = [
    null,
    3,
    'x',
    [],
    {},
    { items: 'x' },
    { items: [null] },
    { items: [{}] },
  ]
  for (const document of documents) {
    assert.deepEqual(readGroupDiscoveryList(document, home), [], JSON.stringify(document))
    assert.deepEqual(readResourceList(document), [], JSON.stringify(document))
  }
})

test('an APIResourceList becomes aggregated discovery', () => {
  const resources: JsonValue = [
    {
      name: 'flunders',
      singularName: 'flunder',
      namespaced: true,
      kind: 'Flunder',
      verbs: ['get'],
      shortNames: ['fl'],
    },
    { name: 'flunders/status', singularName: '', namespaced: true, kind: 'Flunder', verbs: ['get'] },
    { name: 'fischers', singularName: 'fischer', namespaced: false, kind: 'Fischer', verbs: ['list'] },
    { name: 'lost/scale', kind: 'Scale', verbs: ['get'] },
  ]
  const kind = (name: string): object => ({ group: '', version: '', kind: name })
  assert.deepEqual(readResourceList({ resources }), [
    {
      resource: 'flunders',
      responseKind: kind('Flunder'),
      scope: 'Namespaced',
      singularResource: 'flunder',
      verbs: ['get'],
      shortNames: ['fl'],
      subresources: [{ subresource: 'status', responseKind: kind('Flunder'), verbs: ['get'] }],
    },
    {
      resource: 'fischers',
      responseKind: kind('Fischer'),
      scope: 'Cluster',
      singularResource: 'fischer',
      verbs: ['list'],
    },
  ])
})
