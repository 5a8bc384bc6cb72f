/** axe-core finds nothing serious in any view, light or dark, wide or narrow. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Page, ViewportSize } from 'playwright-core'
import { clusterForFile } from '../clients/cluster.ts'
import { browserForFile, newLink, openConsole, show, withoutBrowser } from './browser.ts'
import { clusterClient, defaultDeployments, defaultPods, deploymentOf, podOf } from './cluster-client.ts'

/** Addresses with a text that shows that the view has loaded. */
const addresses: readonly (readonly [address: string, text: string])[] = [
  ['#/topology?show=nodes', '2 nodes'],
  ['#/topology?show=objects&namespace=default', 'web'],
  ['#/topology?show=objects&namespace=default&rewind=true', 'Now'],
  ['#/chain', 'create Deployment'],
  ['#/compare', 'Compare'],
  ['#/events', 'Scheduled'],
  ['#/scheduler?pod=default/too-big', 'Rejected'],
  ['#/internals', 'deployment-controller'],
  ['#/internals?part=informers', 'kube-scheduler'],
  ['#/internals?part=watches', 'kube-controller-manager'],
  ['#/internals?part=conflicts', 'Requests answered with 409'],
  ['#/internals?part=leases', 'node-1'],
  ['#/internals?part=fairness', 'workload-high'],
  ['#/access', 'system:masters'],
  ['#/pods', 'too-big'],
  ['#/nodes?wide=true', 'node-1'],
  ['#/deployments.apps/default/web', 'Conditions'],
  ['#/deployments.apps/default/web?tab=edit', 'apiVersion'],
  ['#/deployments.apps/default/web?tab=events', 'ScalingReplicaSet'],
  ['#/deployments.apps/default/web?tab=logs', 'simulated container'],
  ['#/deployments.apps/default/web?tab=chain', 'hops'],
  ['#/deployments.apps/default/web?tab=history', 'versions'],
  ['#/pods/default/too-big', 'Insufficient cpu'],
  ['#/pods/default/too-big?tab=scheduling', 'Rejected'],
  ['#/nodes/-/node-1', 'Conditions'],
  ['#/nonsense', 'is not a resource'],
]

const axePath = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))

test('axe-core has no serious or critical findings in any view', { skip: withoutBrowser }, async () => {
  const cluster = await clusterForFile({ simulatedNodes: 2, store: 'memory' })
  const client = await clusterClient(cluster.folder)
  await client.create(defaultDeployments, deploymentOf('web', 2))
  const resources = { requests: { cpu: '1000' } }
  const spec = { containers: [{ name: 'main', image: 'main', resources }] }
  await client.create(defaultPods, podOf('too-big', { spec }))
  await client.until(`${defaultDeployments}/web`, ({ status }) => status?.['readyReplicas'] === 2)
  const browser = await browserForFile()
  const axe = await readFile(axePath, 'utf8')
  const findings = new Map<string, string[]>()
  const check = async (colorScheme: 'light' | 'dark', viewport: ViewportSize): Promise<void> => {
    const { page } = await openConsole(browser, await newLink(cluster.folder), { colorScheme, viewport })
    await page.evaluate(axe)
    const examine = async (what: string): Promise<void> => {
      for (const finding of await findingsOf(page)) {
        findings.set(finding, [...(findings.get(finding) ?? []), `${colorScheme} ${what}`])
      }
    }
    for (const [address, text] of addresses) {
      await show(page, address)
      const shown = page.locator('#content').getByText(text).first()
      await shown.waitFor({ state: 'attached' }).catch(async () => {
        assert.fail(`${address} does not show ${text}: ${await page.locator('#content').textContent()}`)
      })
      await examine(address)
    }
    for (const key of ['?', ':']) {
      await page.keyboard.press(key)
      await page.locator('dialog[open]').waitFor()
      await examine(`dialog of ${key}`)
      await page.keyboard.press('Escape')
    }
    await page.context().close()
  }
  await Promise.all([
    check('light', { width: 1_400, height: 900 }),
    check('dark', { width: 390, height: 800 }),
  ])
  assert.deepEqual(findings, new Map())
})

interface AxeResults {
  readonly violations: readonly {
    readonly id: string
    readonly impact: string
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
  }[]
}

/** One text for each serious rule, with its first element and what is wrong with it. */
async function findingsOf(page: Page): Promise<string[]> {
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => {
      const [node] = nodes
      return `${id}: ${node?.html.slice(0, 120)}: ${node?.failureSummary.split('\n')[1]?.trim()}`
    })
}
