/** Controls on AppArmor, SELinux and seccomp profiles. */
import type { PodSecurityContext, SELinuxOptions, SecurityContext } from '#/api/generated/core/v1.ts'
import { quote } from '#/api/text/quote.ts'
import { allContainers } from '../../pod-spec.ts'
import {
  containersMatching,
  distinct,
  plural,
  quoted,
  describeViolators,
  describeContainers,
  unlessWindows,
  type Check,
  type CheckPod,
  type PodToCheck,
  type Violation,
} from '../check.ts'

const profileTypes: ReadonlySet<string> = new Set(['RuntimeDefault', 'Localhost'])

/** Forbidden profile types set by the pod and its containers, and which of them set one. */
function wrongTypes(
  pod: PodToCheck,
  typeOf: (context: PodSecurityContext | SecurityContext) => string | undefined,
): WrongTypes {
  const wrong = (context: PodSecurityContext | SecurityContext | undefined): readonly string[] => {
    const type = context && typeOf(context)
    return type === undefined || profileTypes.has(type) ? [] : [type]
  }
  const ofPod = wrong(pod.spec.securityContext)
  const who = describeViolators(
    ofPod.length > 0,
    containersMatching(pod, container => wrong(container.securityContext).length > 0),
  )
  const types = distinct([
    ...ofPod,
    ...allContainers(pod.spec).flatMap(container => wrong(container.securityContext)),
  ])
  return { who, types }
}

interface WrongTypes {
  readonly who: string
  readonly types: readonly string[]
}

const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/'

function checkAppArmor(pod: PodToCheck): Violation | undefined {
  const { who, types } = wrongTypes(
    pod,
    context => context.appArmorProfile && (context.appArmorProfile.type ?? ''),
  )
  const annotations = Object.entries(pod.metadata.annotations ?? {})
    .filter(([key, value]) => key.startsWith(appArmorPrefix) && !isAppArmorValue(value))
    .map(([key, value]) => `${key}=${quote(value)}`)
    .sort()
  const culprits = [who, annotations.length > 0 ? plural(annotations.length, 'annotation') : ''].filter(
    text => text !== '',
  )
  if (culprits.length === 0) return undefined
  const values = [...types, ...annotations]
  return {
    reason: plural(values.length, 'forbidden AppArmor profile'),
    detail: `${culprits.join(' and ')} must not set AppArmor profile type to ${quoted(values)}`,
  }
}

function isAppArmorValue(value: string): boolean {
  return value === '' || value === 'runtime/default' || value.startsWith('localhost/')
}

function checkSeLinux(types: readonly string[]): CheckPod {
  const allowed = new Set(['', ...types])
  const isWrong = (options: SELinuxOptions | undefined): boolean =>
    options !== undefined && (!allowed.has(options.type ?? '') || !!options.user || !!options.role)
  return pod => {
    const ofPod = pod.spec.securityContext?.seLinuxOptions
    const who = describeViolators(
      isWrong(ofPod),
      containersMatching(pod, container => isWrong(container.securityContext?.seLinuxOptions)),
    )
    if (who === '') return undefined
    const all = [
      ofPod,
      ...allContainers(pod.spec).map(container => container.securityContext?.seLinuxOptions),
    ]
    const wrong = distinct(all.map(options => options?.type ?? '').filter(type => !allowed.has(type)))
    const what = [
      ...(wrong.length > 0 ? [`${plural(wrong.length, 'type')} ${quoted(wrong)}`] : []),
      ...(all.some(options => options?.user) ? ['user may not be set'] : []),
      ...(all.some(options => options?.role) ? ['role may not be set'] : []),
    ]
    return {
      reason: 'seLinuxOptions',
      detail: `${who} set forbidden securityContext.seLinuxOptions: ${what.join('; ')}`,
    }
  }
}

const seccompPod = 'seccomp.security.alpha.kubernetes.io/pod'
const seccompPrefix = 'container.seccomp.security.alpha.kubernetes.io/'

/** Before 1.19 seccomp profiles were set by annotations. */
function checkSeccompAnnotations({ metadata, spec }: PodToCheck): Violation | undefined {
  const { annotations = {} } = metadata
  const keys = [seccompPod, ...allContainers(spec).map(container => `${seccompPrefix}${container.name}`)]
  const forbidden = distinct(
    keys
      .filter(key => Object.hasOwn(annotations, key) && !isSeccompValue(annotations[key]!))
      .map(key => `${key}=${quote(annotations[key]!)}`),
  )
  if (forbidden.length === 0) return undefined
  return {
    reason: 'seccompProfile',
    detail: `forbidden ${plural(forbidden.length, 'annotation')} ${forbidden.join(', ')}`,
  }
}

function isSeccompValue(value: string): boolean {
  return value === 'runtime/default' || value === 'docker/default' || value.startsWith('localhost/')
}

function checkSeccomp(pod: PodToCheck): Violation | undefined {
  const { who, types } = wrongTypes(pod, seccompType)
  if (who === '') return undefined
  return {
    reason: 'seccompProfile',
    detail: `${who} must not set securityContext.seccompProfile.type to ${quoted(types)}`,
  }
}

/** Requires an allowed profile on the pod or on every container, in addition to forbidding others. */
function checkSeccompSet(pod: PodToCheck): Violation | undefined {
  const wrong = checkSeccomp(pod)
  if (wrong !== undefined) return wrong
  if (pod.spec.securityContext?.seccompProfile !== undefined) return undefined
  const silent = containersMatching(pod, container => container.securityContext?.seccompProfile === undefined)
  if (silent.length === 0) return undefined
  return {
    reason: 'seccompProfile',
    detail:
      `pod or ${describeContainers(silent)} must set securityContext.seccompProfile.type to ` +
      '"RuntimeDefault" or "Localhost"',
  }
}

function seccompType({ seccompProfile }: PodSecurityContext | SecurityContext): string | undefined {
  return seccompProfile && (seccompProfile.type ?? '')
}

const seLinuxTypes = ['container_t', 'container_init_t', 'container_kvm_t']

export const profileChecks: readonly Check[] = [
  { id: 'appArmorProfile', level: 'baseline', versions: [{ since: 0, check: checkAppArmor }] },
  {
    id: 'seLinuxOptions',
    level: 'baseline',
    versions: [
      { since: 0, check: checkSeLinux(seLinuxTypes) },
      { since: 31, check: checkSeLinux([...seLinuxTypes, 'container_engine_t']) },
    ],
  },
  {
    id: 'seccompProfile_baseline',
    level: 'baseline',
    versions: [
      { since: 0, check: checkSeccompAnnotations },
      { since: 19, check: checkSeccomp },
    ],
  },
  {
    id: 'seccompProfile_restricted',
    level: 'restricted',
    versions: [
      { since: 19, check: checkSeccompSet, overrides: 'seccompProfile_baseline' },
      { since: 25, check: unlessWindows(checkSeccompSet), overrides: 'seccompProfile_baseline' },
    ],
  },
]
