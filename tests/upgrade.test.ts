/** A short run of `npm run upgrade`, in which the package of this tree is both versions. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { installPackage, packTree } from '../tools/upgrade/package.ts'
import { runUpgrade } from '../tools/upgrade/run.ts'
import { containersMissing } from './node/test-containerd.ts'
import { temporaryFolder } from './temporary-folder.ts'

const root = join(import.meta.dirname, '..')

test(
  'an upgrade under load loses no acknowledged write and restarts no container, with two nodes',
  { skip: containersMissing },
  async t => {
    const folder = await temporaryFolder(t)
    const { archive } = await packTree(root, folder)
    const install = (version: string): Promise<string> =>
      installPackage({
        archive,
        version,
        project: join(folder, version),
        nodeModules: join(root, 'node_modules'),
      })
    const lines: string[] = []
    const outcome = await runUpgrade({
      from: await install('1000.0.0'),
      to: [await install('1000.0.1')],
      seconds: 3,
      nodes: 2,
      replicas: 3,
      clients: 4,
      pauseMs: 60,
      report: join(folder, 'report'),
      print: line => lines.push(line),
    })
    assert.deepEqual(outcome.verdict, { violations: [], undecided: [] })
    assert.ok(outcome.tally.acknowledgedWrites > 20, `${outcome.tally.acknowledgedWrites} writes`)
    assert.deepEqual([outcome.changedContainers, outcome.containerCount], [[], 3])
    assert.equal(outcome.failedServiceRequests, 0)
    const output = outcome.upgrades.map(each => each.output).join('')
    assert.match(output, /hands over: containers go on/)
    assert.match(output, /SUCCESS! Your cluster was upgraded to "v1\.\S+\+k8ts\.1000\.0\.1"/)
    assert.match(lines[0] ?? '', /^ready in/)
  },
)
