import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultResources } from '#/api/builtin.ts'
import { Scheme } from '#/api/scheme.ts'
import { KeyLocator } from './locate-key.ts'
import { isRecorded } from './recorded-keys.ts'

const resources = defaultResources()

test('a key is located by the resource, namespace and name that it contains', () => {
  const scheme = new Scheme(resources)
  const locator = new KeyLocator(scheme)
  const check = (key: string, expected: string | undefined): void => {
    const found = locator.locate(`/registry/${key}`)
    const shown = found && `${found.apiVersion} ${found.resource.kind} ${found.namespace}/${found.name}`
    assert.equal(shown, expected, key)
  }
  check('pods/default/web-0', 'v1 Pod default/web-0')
  check('minions/node-1', 'v1 Node /node-1')
  check('namespaces/default', 'v1 Namespace /default')
  check('services/specs/default/web', 'v1 Service default/web')
  check('services/endpoints/default/web', 'v1 Endpoints default/web')
  check('ingress/default/web', 'networking.k8s.io/v1 Ingress default/web')
  check('deployments/default/web', 'apps/v1 Deployment default/web')
  check('clusterroles/system:node', 'rbac.authorization.k8s.io/v1 ClusterRole /system:node')
  check('apiregistration.k8s.io/apiservices/v1.apps', 'apiregistration.k8s.io/v1 APIService /v1.apps')
  check('example.com/things/default/a', undefined)
  check('ranges/servicenodeports', undefined)
  assert.equal(locator.locate('/progress'), undefined)
  const pods = resources.find(each => each.plural === 'pods')!
  scheme.register({
    ...pods,
    group: 'example.com',
    plural: 'things',
    storage: { group: 'example.com', version: 'v1' },
  })
  check('example.com/things/default/a', 'example.com/v1 Pod default/a')
})

test('objects are recorded, but not Events and what only keeps components alive', () => {
  const recorded = resources.filter(({ plural }) => isRecorded(`/registry/${plural}/a`))
  const omitted = resources.filter(resource => !recorded.includes(resource)).map(({ plural }) => plural)
  assert.deepEqual([...new Set(omitted)].sort(), ['events', 'leases'])
  for (const key of ['masterleases/10.0.0.1', 'ranges/servicenodeports'])
    assert.equal(isRecorded(`/registry/${key}`), false, key)
})
