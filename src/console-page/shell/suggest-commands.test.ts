import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiResource } from '../data/api-resource.ts'
import { suggestCommands } from './suggest-commands.ts'

function resource(id: string, kind: string, shortNames: readonly string[], verbs = ['list']): ApiResource {
  const [name = '', ...group] = id.split('.')
  const rest = { version: 'v1', namespaced: true, categories: [], subresources: [] }
  return {
    ...rest,
    group: group.join('.'),
    resource: name,
    singular: kind.toLowerCase(),
    kind,
    shortNames,
    verbs,
  }
}

const targets = {
  views: [{ path: 'topology', title: 'Topology', words: ['topo'] }],
  resources: [
    resource('pods', 'Pod', ['po']),
    resource('deployments.apps', 'Deployment', ['deploy']),
    resource('poddisruptionbudgets.policy', 'PodDisruptionBudget', ['pdb']),
    resource('bindings', 'Binding', [], ['create']),
  ],
}

test('suggestCommands puts an exact name first, then names that begin with the text, then the others', () => {
  const check = (line: string, words: readonly string[]): void =>
    assert.deepEqual(
      suggestCommands(line, targets).map(({ word }) => word),
      words,
    )
  check('po', ['pods', 'poddisruptionbudgets.policy', 'topology'])
  check('topo', ['topology'])
  check('dep', ['deployments.apps'])
  check('bind', [])
  check('pods kube', [])
})
