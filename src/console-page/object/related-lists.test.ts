import assert from 'node:assert/strict'
import { test } from 'node:test'
import { relatedLists } from './related-lists.ts'

function check(id: string, spec: object, expected: readonly string[]): void {
  const object = { metadata: { name: 'web', namespace: 'shop' }, spec }
  const lists = relatedLists(id, object).map(({ resource, namespace, parameters, isOwned }) => {
    const [selector = ''] = Object.values(parameters)
    return [resource, namespace || '*', selector, isOwned ? 'owned' : ''].filter(Boolean).join(' ')
  })
  assert.deepEqual(lists, expected, id)
}

test('relatedLists finds what belongs to an object by its selector and owner references', () => {
  const selector = {
    matchLabels: { app: 'web' },
    matchExpressions: [
      { key: 'tier', operator: 'In', values: ['a', 'b'] },
      { key: 'old', operator: 'DoesNotExist' },
    ],
  }
  check('deployments.apps', { selector }, [
    'replicasets.apps shop app=web,tier in (a,b),!old owned',
    'pods shop app=web,tier in (a,b),!old',
  ])
  check('jobs.batch', { selector: { matchLabels: { job: 'x' } } }, ['pods shop job=x owned'])
  check('cronjobs.batch', {}, ['jobs.batch shop owned'])
  check('nodes', {}, ['pods * spec.nodeName=web'])
  check('configmaps', {}, [])
})

test('relatedLists shows no pods for a service without a selector', () => {
  const slices = 'endpointslices.discovery.k8s.io shop kubernetes.io/service-name=web'
  check('services', { selector: { app: 'web' } }, [slices, 'pods shop app=web'])
  check('services', {}, [slices])
})
