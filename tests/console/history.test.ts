/** What the console shows of causes and of the past, in a real browser. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Browser } from 'playwright-core'
import { clusterForFile, type ChildCluster } from '../clients/cluster.ts'
import { browserForFile, newLink, openConsole, show, withoutBrowser, type ConsolePage } from './browser.ts'
import {
  clusterClient,
  defaultDeployments,
  defaultPods,
  deploymentOf,
  podOf,
  type ClusterClient,
} from './cluster-client.ts'

interface World {
  readonly cluster: ChildCluster
  readonly client: ClusterClient
  readonly browser: Browser
}

const options = { skip: withoutBrowser }
const world = withoutBrowser === false ? await start() : undefined

async function start(): Promise<World> {
  const cluster = await clusterForFile({ simulatedNodes: 2, store: 'memory' })
  const client = await clusterClient(cluster.folder)
  return { cluster, client, browser: await browserForFile() }
}

async function open(t: TestContext): Promise<World & ConsolePage> {
  assert.ok(world)
  const opened = await openConsole(world.browser, await newLink(world.cluster.folder))
  t.after(() => opened.page.context().close())
  return { ...world, ...opened }
}

test('the chain of a rollout appears live, its hops in the order of causes', options, async t => {
  const { page, client, problems } = await open(t)
  await show(page, '#/chain')
  await page.getByRole('heading', { name: 'Chain' }).waitFor()
  await client.create(defaultDeployments, deploymentOf('rolled', 1))
  const requests = page.getByRole('list', { name: 'Latest requests' })
  await requests.getByText('create Deployment default/rolled').waitFor()
  const hops = page.locator('.hop-list li')
  const expected = [
    /kubernetes-admin.*: create Deployment default\/rolled/,
    /deployment-controller: create ReplicaSet default\/rolled-/,
    /replicaset-controller: create Pod default\/rolled-/,
    /default-scheduler: create Pod\/binding/,
    /kubelet on node-\d: \w+ Pod\/status/,
  ]
  for (const hop of expected) await hops.filter({ hasText: hop }).first().waitFor()
  const texts = await hops.allTextContents()
  const places = expected.map(hop => texts.findIndex(text => hop.test(text)))
  assert.deepEqual(
    places,
    places.toSorted((left, right) => left - right),
    texts.join('\n'),
  )
  await client.patch(`${defaultDeployments}/rolled`, { spec: { replicas: 2 } })
  await requests.getByText('patch Deployment default/rolled').waitFor()
  assert.deepEqual(problems, [])
})

test('rewind shows a deleted pod in the state of that moment, and returns to now', options, async t => {
  const { page, client, problems } = await open(t)
  await client.create(defaultPods, podOf('gone'))
  await client.until(`${defaultPods}/gone`, ({ status }) => status?.['phase'] === 'Running')
  const atMs = Date.now()
  await client.remove(`${defaultPods}/gone`)
  await client.until(defaultPods, ({ items = [] }) => !items.some(({ metadata }) => metadata.name === 'gone'))
  await client.create(defaultPods, podOf('young'))
  await client.until(`${defaultPods}/young`, ({ status }) => status?.['phase'] === 'Running')
  const pod = (name: string) => page.locator('#content').getByText(name, { exact: true }).first()
  await show(page, '#/topology?namespace=default&show=objects')
  await pod('young').waitFor({ state: 'attached' })
  assert.equal(await pod('gone').count(), 0)
  const at = new Date(atMs).toISOString()
  await show(page, `#/topology?namespace=default&show=objects&at=${encodeURIComponent(at)}`)
  await page.getByText('Showing the state at').waitFor()
  await pod('gone').waitFor({ state: 'attached' })
  assert.equal(await pod('young').count(), 0)
  await page.getByRole('button', { name: 'Return to now' }).click()
  await pod('young').waitFor({ state: 'attached' })
  assert.deepEqual(problems, [])
})

test('the history of an object names who changed which field', options, async t => {
  const { page, client, problems } = await open(t)
  const configMaps = '/api/v1/namespaces/default/configmaps'
  await client.create(configMaps, { metadata: { name: 'settings' }, data: { colour: 'red' } })
  await client.patch(`${configMaps}/settings`, { data: { colour: 'blue' } })
  await show(page, '#/configmaps/default/settings?tab=history')
  const rows = page.locator('.history-versions tbody tr')
  await rows.nth(1).waitFor()
  assert.equal(await rows.count(), 2)
  assert.match((await rows.first().textContent()) ?? '', /kubernetes-admin/)
  const difference = page.locator('.history-columns')
  for (const text of ['red', 'blue']) await difference.getByText(text).first().waitFor()
  assert.deepEqual(problems, [])
})
