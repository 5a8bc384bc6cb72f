/**
 * Upgrades a cluster with real containers from one package of k8ts to another while clients read and write:
 *
 *     npm run upgrade
 *     npm run upgrade -- --from k8ts-0.1.0.tgz --seconds 60 --nodes 2
 *
 * Exits with 1 if an acknowledged write is lost, a client has seen something wrong, or a container has restarted.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { describeReport } from './robustness/report.ts'
import { installPackage, packTree } from './upgrade/package.ts'
import { runUpgrade } from './upgrade/run.ts'

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: 'HEAD^' },
    to: { type: 'string' },
    seconds: { type: 'string', default: '20' },
    nodes: { type: 'string', default: '1' },
    replicas: { type: 'string', default: '5' },
    clients: { type: 'string', default: '8' },
    pause: { type: 'string', default: '40' },
    report: { type: 'string', default: 'upgrade-report' },
    help: { type: 'boolean', default: false },
  },
})

const usage = `usage: npm run upgrade -- [FLAGS]

Starts a cluster with the package of another version, upgrades it to the package of this tree and then to the same one
with another version, and checks the recorded history of the clients and the containers. Needs root and containerd.

  --from COMMIT|FILE  the package to start with: of a commit, HEAD^ by default, or an archive of npm pack
  --to FILE           the package to upgrade to, by default that of this tree
  --seconds N         load before and after each upgrade, 20 by default
  --nodes N           nodes, 1 by default
  --replicas N        pods, 5 by default
  --clients N         clients that read and write at the same time, 8 by default
  --pause MS          average pause of a client between two requests, 40 by default
  --report FOLDER     receives the history, upgrade-report by default
`

const root = join(import.meta.dirname, '..')
const nodeModules = join(root, 'node_modules')

if (values.help) process.stdout.write(usage)
else process.exitCode = await main()

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-packages-'))
  try {
    const from = values.from.endsWith('.tgz') ? resolve(values.from) : await packCommit(values.from, folder)
    const to =
      values.to === undefined ? (await packTree(root, join(folder, 'to'))).archive : resolve(values.to)
    const install = (archive: string, name: string, version?: string): Promise<string> =>
      installPackage({ archive, nodeModules, project: join(folder, name), ...(version && { version }) })
    const report = resolve(values.report)
    const outcome = await runUpgrade({
      from: await install(from, 'old'),
      to: [await install(to, 'new', '1000.0.0'), await install(to, 'newer', '1000.0.1')],
      seconds: Number(values.seconds),
      nodes: Number(values.nodes),
      replicas: Number(values.replicas),
      clients: Number(values.clients),
      pauseMs: Number(values.pause),
      report,
      print: line => console.log(line),
    })
    const { tally, verdict, changedContainers, containerCount, failedServiceRequests } = outcome
    const historyFile = join(report, 'history.jsonl')
    const lines = describeReport({
      tally,
      verdict,
      checkMs: 0,
      historyFile,
      gaps: new Map(),
      figures: undefined,
    })
    for (const line of lines) console.log(line)
    console.log(
      `containers            ${containerCount}, of which ${changedContainers.length} have restarted`,
    )
    for (const line of changedContainers) console.log(`  ${line}`)
    console.log(`service requests      ${failedServiceRequests} failed`)
    return verdict.violations.length + verdict.undecided.length + changedContainers.length === 0 ? 0 : 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The package of a commit, in a work tree that is removed again. */
async function packCommit(commit: string, folder: string): Promise<string> {
  const tree = join(folder, 'tree')
  const git = (...words: readonly string[]): void =>
    void execFileSync('git', words, { cwd: root, stdio: 'ignore' })
  git('worktree', 'add', '--detach', tree, commit)
  try {
    symlinkSync(nodeModules, join(tree, 'node_modules'))
    cpSync(join(root, 'src/api/generated'), join(tree, 'src/api/generated'), { recursive: true })
    return (await packTree(tree, join(folder, 'from'))).archive
  } finally {
    git('worktree', 'remove', '--force', tree)
  }
}
