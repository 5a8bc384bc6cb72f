/** The page of the console in a real browser, signed in by the printed link, on a cluster with simulated nodes. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import type { Browser, Locator, Page } from 'playwright-core'
import { clusterForFile, type ChildCluster } from '../clients/cluster.ts'
import { kubeconfigFor } from '../security/kubeconfigs.ts'
import { script } from '../up/process.ts'
import { browserForFile, newLink, openConsole, show, withoutBrowser, type ConsolePage } from './browser.ts'
import { clusterClient, defaultPods, podOf, type ClusterClient } from './cluster-client.ts'

interface World {
  readonly cluster: ChildCluster
  readonly client: ClusterClient
  readonly browser: Browser
}

const options = { skip: withoutBrowser }
const world = withoutBrowser === false ? await start() : undefined

async function start(): Promise<World> {
  const cluster = await clusterForFile({ simulatedNodes: 3, store: 'memory' })
  const client = await clusterClient(cluster.folder)
  return { cluster, client, browser: await browserForFile() }
}

async function open(t: TestContext): Promise<World & ConsolePage> {
  assert.ok(world)
  const opened = await openConsole(world.browser, await newLink(world.cluster.folder))
  t.after(() => opened.page.context().close())
  return { ...world, ...opened }
}

function row(page: Page, name: string): Locator {
  return page.locator('.grid-row', { hasText: name })
}

test('a link signs in once, and its token leaves the address and the history', options, async t => {
  const { page, browser, cluster, problems } = await open(t)
  const link = await newLink(cluster.folder)
  const context = await browser.newContext()
  t.after(() => context.close())
  const other = await context.newPage()
  await other.goto(link)
  await other.locator('.sidebar a').first().waitFor()
  const token = new URL(link).hash
  assert.ok(!other.url().includes(token.slice('#token='.length)))
  assert.equal(await other.evaluate('history.length'), 2, 'about:blank and the page')
  await other.reload()
  await other.locator('.sidebar a').first().waitFor()
  const second = await (await browser.newContext()).newPage()
  t.after(() => second.context().close())
  await second.goto(link)
  await second.getByText('The link was used before, or has expired.').waitFor()
  assert.equal(await second.locator('.sidebar').count(), 0)
  assert.match((await page.locator('.identity').textContent()) ?? '', /kubernetes-admin/)
  assert.deepEqual(problems, [])
})

test('the keyboard alone goes to a list, filters it, opens a pod, its log, and back', options, async t => {
  const { page, client } = await open(t)
  for (const name of ['key-a', 'key-b']) {
    const command = ['sh', '-c', `echo log of ${name}; sleep 3600`]
    const spec = { containers: [{ name: 'main', image: 'main', command }] }
    await client.create(defaultPods, podOf(name, { spec }))
    await client.until(`${defaultPods}/${name}`, ({ status }) => status?.['phase'] === 'Running')
  }
  const { keyboard } = page
  await keyboard.press(':')
  await page.locator('dialog[open] input').waitFor()
  await keyboard.type('pods')
  await keyboard.press('Enter')
  await row(page, 'key-a').waitFor()
  await keyboard.press('/')
  await keyboard.type('key-b')
  await row(page, 'key-a').waitFor({ state: 'detached' })
  await keyboard.press('Enter')
  await keyboard.press('j')
  await page.locator('.grid-row[aria-selected=true]', { hasText: 'key-b' }).waitFor()
  await keyboard.press('Enter')
  await page.locator('h1', { hasText: 'key-b' }).waitFor()
  await keyboard.press('l')
  await page.getByText('log of key-b', { exact: true }).waitFor()
  await keyboard.press('Escape')
  await page.locator('#tab-overview[aria-selected=true]').waitFor()
  await keyboard.press('Escape')
  await row(page, 'key-b').waitFor()
})

test('the scheduler view shows what filters rejected and how plugins scored each node', options, async t => {
  const { page, client, problems } = await open(t)
  const requests = { cpu: '1000' }
  const spec = { containers: [{ name: 'main', image: 'main', resources: { requests } }] }
  await client.create(defaultPods, podOf('too-big', { spec }))
  await client.create(defaultPods, podOf('scored'))
  await client.until(`${defaultPods}/scored`, each => each.spec?.['nodeName'] !== undefined)
  const { spec: scheduled } = await client.get(`${defaultPods}/scored`)
  await show(page, '#/scheduler')
  await page.getByRole('grid', { name: 'Pending pods' }).getByRole('link', { name: 'too-big' }).click()
  const rejected = page.getByRole('grid', { name: 'Nodes for pod default/too-big' })
  await rejected.getByText('Insufficient cpu').nth(2).waitFor()
  assert.equal(await rejected.getByText('Rejected').count(), 3)
  await page.getByRole('grid', { name: 'Recent decisions' }).getByRole('link', { name: 'scored' }).click()
  const scored = page.getByRole('grid', { name: 'Nodes for pod default/scored' })
  const chosen = scored.locator('.grid-row', { hasText: 'Chosen' })
  await chosen.waitFor()
  assert.match(
    (await chosen.textContent()) ?? '',
    new RegExp(`^${String(scheduled?.['nodeName'])}Chosen\\d+`),
  )
  await scored.getByRole('columnheader', { name: 'NodeResourcesFit' }).waitFor()
  assert.equal(await scored.getByText('Feasible').count(), 2)
  assert.deepEqual(problems, [])
})

test(
  'the second of two editors is told who changed the object, and can keep its change',
  options,
  async t => {
    const { page: first, client } = await open(t)
    const { page: second } = await open(t)
    const configMaps = '/api/v1/namespaces/default/configmaps'
    await client.create(configMaps, { metadata: { name: 'shared' }, data: { colour: 'red', size: 'small' } })
    for (const page of [first, second]) {
      await show(page, '#/configmaps/default/shared?tab=edit')
      await page.locator('.cm-line', { hasText: 'colour: red' }).waitFor()
    }
    await replaceWord(second, 'small', 'large')
    await replaceWord(first, 'red', 'blue')
    await first.getByRole('button', { name: 'Review and apply' }).click()
    await first.getByRole('button', { name: 'Apply', exact: true }).click()
    await client.until(`${configMaps}/shared`, object => JSON.stringify(object).includes('blue'))
    await second.getByRole('button', { name: 'Review and apply' }).click()
    await second.getByText(/Changed meanwhile by k8ts-console; nothing was saved/).waitFor()
    await second.getByRole('button', { name: 'Show differences' }).click()
    await second.locator('.notice', { hasText: 'Changed meanwhile' }).getByText('blue').first().waitFor()
    await second.getByRole('button', { name: 'Overwrite theirs' }).click()
    await client.until(`${configMaps}/shared`, object => JSON.stringify(object).includes('large'))
  },
)

/** Types into the manifest as a user does. */
async function replaceWord(page: Page, word: string, by: string): Promise<void> {
  const line = page.locator('.cm-line', { hasText: `: ${word}` })
  await line.click()
  await page.keyboard.press('End')
  for (const _ of word) await page.keyboard.press('Backspace')
  await page.keyboard.type(by)
  await page.keyboard.press('Escape')
}

const hostile = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'

test('hostile contents of objects and logs are text', options, async t => {
  const { page, client, problems } = await open(t)
  const image = '<img/src=x/onerror=window.hacked=1>'
  const escapes = '\u001B]0;title\u0007\u001B[2J\u001B[31mred\u001B[0m'
  const command = ['sh', '-c', `echo '${hostile} ${escapes} end'; sleep 3600`]
  const metadata = { annotations: { hostile, link: 'javascript:window.hacked=1' } }
  const spec = { containers: [{ name: 'main', image, command }] }
  await client.create(defaultPods, podOf('hostile', { metadata, spec }))
  await client.until(`${defaultPods}/hostile`, ({ status }) => status?.['phase'] === 'Running')
  await client.create('/api/v1/namespaces/default/events', {
    metadata: { name: 'hostile' },
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'hostile' },
    reason: hostile.slice(0, 60),
    message: hostile,
    type: 'Warning',
  })
  const shown: readonly (readonly [address: string, text: string])[] = [
    ['#/pods/default/hostile', hostile],
    ['#/pods/default/hostile?tab=edit', 'onerror'],
    ['#/pods/default/hostile?tab=logs', '<script>'],
    ['#/pods?wide=true', 'hostile'],
    ['#/events', hostile],
    ['#/topology?show=objects&namespace=default', 'hostile'],
    [`#/pods/default/${encodeURIComponent(hostile)}`, hostile],
    [`#/${encodeURIComponent(hostile)}`, 'is not a resource'],
    [`#/scheduler?pod=${encodeURIComponent(`default/${hostile}`)}`, 'onerror'],
  ]
  for (const [address, text] of shown) {
    await show(page, address)
    await page.locator('#content').getByText(text).first().waitFor({ state: 'attached' })
    assert.equal(await page.evaluate("'hacked' in window"), false, address)
    assert.equal(await page.locator('#content img, #content script').count(), 0, address)
  }
  await show(page, '#/pods/default/hostile?tab=logs')
  const line = page.locator('.log-lines', { hasText: 'end' })
  await line.waitFor()
  assert.equal(((await line.textContent()) ?? '').includes('\u001B'), false)
  assert.equal(await page.title(), 'hostile - Pod - k8ts')
  assert.equal(await page.locator('a[href^="javascript:"]').count(), 0)
  assert.deepEqual(problems, [])
})

test('a user without rights reads the refusals of the API server, and no data', options, async t => {
  const { page: admin, cluster, browser, client } = await open(t)
  await client.create('/api/v1/namespaces/default/secrets', {
    metadata: { name: 'hidden-secret' },
    stringData: { password: 'hidden-password' },
  })
  await admin.context().close()
  const kubeconfig = await kubeconfigFor(cluster, 'ann')
  const { page } = await openConsole(browser, await serveFor(t, kubeconfig))
  t.after(() => page.context().close())
  const refused = async (address: string, message: RegExp): Promise<void> => {
    await show(page, address)
    await page.getByText(message).first().waitFor()
    const text = (await page.locator('#content').textContent()) ?? ''
    assert.doesNotMatch(text, /hidden|node-1|kubernetes-admin/, address)
  }
  const forbidden = (what: string): RegExp => new RegExp(`${what}"? is forbidden: User "ann" cannot`)
  await refused('#/secrets?namespace=default', forbidden('secrets'))
  await refused('#/secrets/default/token?tab=edit', forbidden('secrets "token'))
  await refused('#/nodes', forbidden('nodes'))
  await refused('#/events', forbidden('events'))
  await refused('#/topology', forbidden('nodes'))
  await refused('#/scheduler', /forbidden: User "ann" cannot get path "\/debug\/scheduling"/)
  await refused('#/internals', /missing right is get on the non-resource URL \/debug\/components/)
  await refused('#/internals?part=watches', /non-resource URL \/debug\/watches/)
  await refused('#/internals?part=leases', forbidden('leases.coordination.k8s.io'))
  const { stderr } = await promisify(execFile)(script, ['kubectl', 'get', 'secrets'], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
  }).catch((error: unknown) => error as { readonly stderr: string })
  const [, refusal = ''] = /\(Forbidden\): (.*)/.exec(stderr) ?? assert.fail(stderr)
  await show(page, '#/secrets?namespace=default')
  await page.getByText(refusal, { exact: true }).waitFor()
})

/** `k8ts console` for a kubeconfig; returns its link. */
async function serveFor(t: TestContext, kubeconfig: string): Promise<string> {
  const child = spawn(script, ['console', '--kubeconfig', kubeconfig], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(async () => {
    const exit = once(child, 'exit')
    child.kill('SIGTERM')
    await exit
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const link = /^console: (http:\S+)$/.exec(line)?.[1]
    if (link !== undefined) return link
  }
  throw new Error('k8ts console has ended')
}
