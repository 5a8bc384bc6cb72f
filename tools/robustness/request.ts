import { resolve } from 'node:path'
import {
  boolFlag,
  describeFlags,
  enumFlag,
  integerFlag,
  parseFlags,
  stringFlag,
  stringSliceFlag,
  UsageError,
  valueFlag,
} from '#/base/flags.ts'
import { faultKinds, type FaultKind } from './faults.ts'

/** The decision what one call of the program does. */
export type Request = { readonly type: 'help' } | RunRequest | CheckRequest

export interface RunRequest {
  readonly type: 'run'
  readonly target: 'embedded' | 'etcd' | 'hosts'
  readonly minutes: number
  readonly seed: string
  readonly clients: number
  readonly keys: number
  readonly pauseMs: number
  /** All that the target has when absent. */
  readonly faults?: readonly FaultKind[]
  readonly report: string
}

export interface CheckRequest {
  readonly type: 'check'
  readonly file: string
}

const positive = {
  parse: (given: string) =>
    /^\d{1,5}(\.\d{1,3})?$/.test(given) && Number(given) > 0 ? Number(given) : undefined,
  what: 'a positive number',
}
const count = {
  parse: (given: string) => (/^[1-9]\d{0,2}$/.test(given) ? Number(given) : undefined),
  what: 'a number from 1 to 999',
}
const path = { parse: (given: string) => resolve(given), what: 'a path' }

const flags = {
  minutes: valueFlag('N', 'duration of the load (1)', positive),
  target: enumFlag(
    ['embedded', 'etcd', 'hosts'],
    'k8ts up on the embedded store (default), two API servers on three etcd members, or hosts of k8ts init and join',
  ),
  seed: stringFlag('TEXT', 'draws requests and faults (the time of the start)'),
  faults: stringSliceFlag('KIND,...', 'only these faults; none for no fault'),
  clients: valueFlag('N', 'clients that read and write at the same time (8)', count),
  keys: valueFlag('N', 'objects that they share (10)', count),
  pause: integerFlag('MS', 'average pause of a client between two requests (40)'),
  report: valueFlag('DIR', 'where history and logs are written (./robustness-report/TARGET-SEED)', path),
  check: valueFlag('FILE', 'check a saved history again, and run nothing', path),
  help: boolFlag('show this text'),
}

export const help = `Usage: npm run robustness -- --minutes N [FLAGS]
       npm run robustness -- --check FILE

Runs clients of several kinds against real processes while faults are injected: readers, writers, server-side apply,
watchers and informers, of k8ts and of @kubernetes/client-node. Then everything is healed, and the recorded history is
checked: linearizability of each object, revisions, lists, watches, and informers at rest. Exits with 0 when there is no
violation, with 1 when there is one or when the check is undecided, with 2 when a flag is wrong. As root, everything
runs in network and mount namespaces of its own.

${describeFlags(flags)}
Faults:
${Object.entries(faultKinds)
  .map(([kind, text]) => `  ${kind.padEnd(18)}${text}\n`)
  .join('')}
Examples:
  npm run robustness -- --minutes 20
      the embedded store
  npm run robustness -- --minutes 20 --target etcd
      two API servers on three etcd members
  npm run robustness -- --minutes 10 --target hosts
      three control plane hosts of k8ts init and k8ts join (root)
  npm run robustness -- --minutes 2 --faults kill,stop --seed 7
      two kinds of faults, in the order of seed 7
  npm run robustness -- --check robustness-report/embedded-7/history.jsonl
      checks the history of that run again
`

/** Throws UsageError. */
export function readRequest(words: readonly string[], startedMs: number): Request {
  const values = parseFlags(words, flags)
  if (values.help) return { type: 'help' }
  if (values.check !== undefined) {
    if (Object.keys(values).length > 1) throw new UsageError('--check cannot be used with other flags')
    return { type: 'check', file: values.check }
  }
  const { target = 'embedded', seed = String(startedMs) } = values
  if (!/^[\w.-]{1,64}$/.test(seed))
    throw new UsageError(`--seed ${seed}: must be letters, digits, dots or dashes`)
  return {
    type: 'run',
    target,
    seed,
    minutes: values.minutes ?? 1,
    clients: values.clients ?? 8,
    keys: values.keys ?? 10,
    pauseMs: values.pause ?? 40,
    report: values.report ?? resolve('robustness-report', `${target}-${seed}`),
    ...(values.faults && { faults: kindsOf(values.faults) }),
  }
}

function kindsOf(given: readonly string[]): FaultKind[] {
  if (given.length === 1 && given[0] === 'none') return []
  return given.map(name => {
    if (!Object.hasOwn(faultKinds, name)) {
      throw new UsageError(`--faults ${name}: must be some of ${Object.keys(faultKinds).join(', ')}, or none`)
    }
    return name as FaultKind
  })
}
