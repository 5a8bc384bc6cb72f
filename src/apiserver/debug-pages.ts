/** Pages for debugging: `/statusz`, `/flagz`, `/debug/api_priority_and_fairness/` and `/debug/pprof/`. */
import { formatDurationMs } from '#/api/text/duration.ts'
import type { Clock } from '#/platform/platform.ts'
import type { Profiler } from '#/platform/profiler.ts'
import { flowControlDump } from './debug/flow-control-dumps.ts'
import { Profiles } from './debug/profiles.ts'
import { zpage } from './debug/zpages.ts'
import { kubernetesVersion, type Build } from './discovery/server-version.ts'
import { apiServerFlags, type ApiServerFlags } from './flags.ts'
import type { FlowControl } from './flow-control.ts'
import type { DebugPage } from './observability.ts'
import type { ApiRequest } from './request.ts'

export interface DebugPagesOptions {
  readonly clock: Clock
  /** Wall-clock time of the start. */
  readonly startedMs: number
  readonly build: Build
  /** The given flags. */
  readonly flags: ApiServerFlags
  /** Without it there are no profiles. */
  readonly profiler?: Profiler | undefined
  /** Undefined without priority and fairness. */
  readonly flowControl: () => FlowControl | undefined
}

export function debugPages(options: DebugPagesOptions): readonly DebugPage[] {
  const { clock, startedMs, build, flags, profiler, flowControl } = options
  const { runtime: goVersion = 'node' } = build
  const shownFlags = describeFlagValues(flags)
  const status = () => ({ startedMs, nowMs: clock.now(), goVersion, binaryVersion: kubernetesVersion })
  const profiles = profiler && flags.profiling !== false ? new Profiles(profiler) : undefined
  return [
    request => zpage(request, { status, flags: shownFlags }),
    request => flowControlDump(request, flowControl(), clock),
    ...(profiles ? [(request: ApiRequest) => profiles.answer(request)] : []),
  ]
}

/** In the syntax of kube-apiserver's flags. */
function describeFlagValues(given: ApiServerFlags): Readonly<Record<string, string>> {
  const entries = Object.entries(given).flatMap(([name, value]): readonly [string, string][] => {
    const flag = Object.entries(apiServerFlags).find(([known]) => known === name)?.[1]
    return flag === undefined ? [] : [[name, describeValue(value, flag.value === 'DURATION')]]
  })
  return Object.fromEntries(entries)
}

function describeValue(value: unknown, isDuration: boolean): string {
  if (Array.isArray(value)) return `[${value.join(',')}]`
  if (typeof value === 'number' && isDuration) return formatDurationMs(value)
  if (typeof value === 'object' && value !== null) return Object.values(value).join('-')
  return String(value)
}
