/** Evaluates a pod against a level and version, and returns all violations. */
import type { Check, CheckPod, PodToCheck, Violation } from './check.ts'
import { hostChecks } from './checks/host.ts'
import { kernelChecks } from './checks/kernel.ts'
import { privilegeChecks } from './checks/privileges.ts'
import { profileChecks } from './checks/profiles.ts'
import { userChecks } from './checks/users.ts'
import { volumeChecks } from './checks/volumes.ts'
import type { LevelVersion, Version } from './policy.ts'

export function evaluate({ level, version }: LevelVersion, pod: PodToCheck): readonly Violation[] {
  if (level === 'privileged') return []
  return checksFor(level, Math.min(version, newestVersion)).flatMap(check => check(pod) ?? [])
}

/** `privileged (container "a" must not set securityContext.privileged=true), host namespaces (hostPID=true)`. */
export function formatDetails(violations: readonly Violation[]): string {
  return violations.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ')
}

export function formatReasons(violations: readonly Violation[]): string {
  return violations.map(violation => violation.reason).join(', ')
}

const allChecks: readonly Check[] = [
  ...hostChecks,
  ...kernelChecks,
  ...privilegeChecks,
  ...profileChecks,
  ...userChecks,
  ...volumeChecks,
].sort((a, b) => (a.level === b.level ? (a.id < b.id ? -1 : 1) : a.level === 'baseline' ? -1 : 1))

/** Versions after this one are equal to it. */
const newestVersion = Math.max(...allChecks.flatMap(check => check.versions.map(each => each.since)))

const known = new Map<string, readonly CheckPod[]>()

function checksFor(level: 'baseline' | 'restricted', version: Version): readonly CheckPod[] {
  const key = `${level}:${version}`
  const checks = known.get(key) ?? select(level, version)
  known.set(key, checks)
  return checks
}

/** Baseline checks, plus for restricted its own checks, without the baseline checks they override. */
function select(level: 'baseline' | 'restricted', version: Version): readonly CheckPod[] {
  const current = allChecks
    .filter(check => check.level === 'baseline' || level === 'restricted')
    .flatMap(({ id, versions }) => {
      const latest = versions.findLast(each => each.since <= version)
      return latest ? [{ id, ...latest }] : []
    })
  const overridden = new Set(current.map(({ overrides }) => overrides))
  return current.filter(({ id }) => !overridden.has(id)).map(({ check }) => check)
}
