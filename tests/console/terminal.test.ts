/** The terminal of the console, in a real browser and a real container. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { containerCluster } from '../node/container-cluster.ts'
import { waitUntil } from '../wait-until.ts'
import { browserForFile, newLink, openConsole, show, withoutBrowser } from './browser.ts'
import { clusterClient, defaultPods, podOf } from './cluster-client.ts'

test('a terminal runs typed commands, shows their output, and ends', { skip: withoutBrowser }, async () => {
  const cluster = await containerCluster()
  const client = await clusterClient(cluster.folder)
  const container = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', '3600'] }
  await client.create(defaultPods, podOf('shell', { spec: { containers: [container] } }))
  await client.until(`${defaultPods}/shell`, ({ status }) => status?.['phase'] === 'Running')
  const { page, problems } = await openConsole(await browserForFile(), await newLink(cluster.folder))
  await show(page, '#/pods/default/shell')
  await page.locator('h1', { hasText: 'shell' }).waitFor()
  await page.keyboard.press('s')
  await page.getByText('Connected', { exact: true }).waitFor()
  // Rows of the screen; in them, a space may be another character of the same width.
  const lines = async (): Promise<string[]> => {
    const rows = await page.locator('.xterm-rows > div').allTextContents()
    return rows.map(line => line.replaceAll('\u00A0', ' ').trimEnd())
  }
  await waitUntil(async () => (await lines()).some(line => /[#$] *$/.test(line)))
  await page.keyboard.type('echo hi-$((40 + 2)) | tee /seen\n')
  await waitUntil(async () => (await lines()).includes('hi-42'))
  await page.keyboard.type("printf '<b>bold</b>\\n'\n")
  await waitUntil(async () => (await lines()).includes('<b>bold</b>'))
  assert.equal(await page.locator('.xterm-rows b').count(), 0)
  await page.keyboard.type('exit 3\n')
  await page.getByRole('status').filter({ hasText: '3' }).first().waitFor()
  assert.deepEqual(problems, [])
})
