/** The list of 5,000 pods on 500 simulated nodes stays smooth: only visible rows are in the document. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clusterForFile } from '../clients/cluster.ts'
import { waitUntil } from '../wait-until.ts'
import { browserForFile, newLink, openConsole, show, withoutBrowser } from './browser.ts'
import { clusterClient, defaultDeployments, deploymentOf } from './cluster-client.ts'

const podCount = 5_000
const nodeCount = 500
/** More than a screen has, with the rows beyond its edges. */
const rowsMax = 100

test('5,000 pods are scrolled with a bounded number of rows', { skip: withoutBrowser }, async t => {
  const cluster = await clusterForFile({ simulatedNodes: nodeCount, store: 'memory' })
  const client = await clusterClient(cluster.folder)
  const deployments = 10
  for (let index = 0; index < deployments; index++) {
    await client.create(defaultDeployments, deploymentOf(`many-${index}`, podCount / deployments))
  }
  await waitUntil(async () => {
    const { items = [] } = await client.get(defaultDeployments)
    const ready = items.map(({ status }) => Number(status?.['readyReplicas'] ?? 0))
    return ready.reduce((sum, count) => sum + count, 0) === podCount
  })
  const { page, problems } = await openConsole(await browserForFile(), await newLink(cluster.folder))
  await show(page, '#/pods')
  await page.locator('.count', { hasText: /^5,000$/ }).waitFor()
  const measured = (await page.evaluate(scrollThrough)) as Measured
  t.diagnostic(
    `${measured.steps} frames scrolled, ${measured.longTasks.length} tasks over 50 ms, ` +
      `the longest ${Math.max(0, ...measured.longTasks).toFixed(0)} ms`,
  )
  assert.ok(measured.rowsMost > 10 && measured.rowsMost <= rowsMax, `${measured.rowsMost} rows`)
  assert.deepEqual(measured.wrong, [])
  assert.equal(measured.names, podCount, 'each pod was shown once scrolled to')
  await page.keyboard.press('/')
  await page.keyboard.type('many-7')
  await page.locator('.count', { hasText: '500 of 5,000' }).waitFor()
  assert.deepEqual(problems, [])
})

interface Measured {
  readonly steps: number
  /** Durations in milliseconds. */
  readonly longTasks: readonly number[]
  readonly rowsMost: number
  /** Scroll positions where the middle of the list had no row, or the wrong one. */
  readonly wrong: readonly number[]
  /** Number of different pods seen. */
  readonly names: number
}

/** Runs in the page: scrolls by half a screen in each frame, from the first row to the last. */
const scrollThrough = `(async () => {
  const grid = document.querySelector('.grid')
  const longTasks = []
  const observer = new PerformanceObserver(list => longTasks.push(...list.getEntries().map(each => each.duration)))
  observer.observe({ entryTypes: ['longtask'] })
  const names = new Set()
  const wrong = []
  let steps = 0
  let rowsMost = 0
  const frame = () => new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)))
  const end = grid.scrollHeight - grid.clientHeight
  for (let top = 0; ; top = Math.min(end, top + grid.clientHeight / 2)) {
    grid.scrollTop = top
    await frame()
    await frame()
    steps++
    const rows = [...grid.querySelectorAll('.grid-body > .grid-row')]
    rowsMost = Math.max(rowsMost, rows.length)
    for (const row of rows) names.add(row.querySelector('a').textContent)
    const box = grid.getBoundingClientRect()
    const middle = document.elementFromPoint(box.left + 60, box.top + box.height / 2)?.closest('.grid-row')
    const expected = Math.floor((grid.scrollTop + box.height / 2 - 33) / 32) + 2
    if (Math.abs(Number(middle?.getAttribute('aria-rowindex')) - expected) > 1) wrong.push(top)
    if (top >= end) break
  }
  observer.disconnect()
  return { steps, longTasks, rowsMost, wrong, names: names.size }
})()`
