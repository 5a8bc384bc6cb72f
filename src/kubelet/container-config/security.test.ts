import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodSecurityContext, PodSpec, SecurityContext } from '#/api/generated/core/v1.ts'
import type { ContainerSecurity } from '#/cri/cri.ts'
import type { ContainerInput, ContainerVolume } from '../container-input.ts'
import { containerSecurity, sandboxSecurity } from './security.ts'
import { inputOf, machine, node, podWith } from './test-input.ts'

interface Asked {
  readonly pod?: PodSecurityContext
  readonly own?: SecurityContext
  readonly spec?: Partial<PodSpec>
  /** User of the image. */
  readonly uid?: number
  readonly username?: string
  readonly more?: Partial<ContainerInput>
}

function secured({ pod, own, spec, uid, username, more = {} }: Asked): ContainerSecurity {
  const input = inputOf({
    spec: { ...(pod && { securityContext: pod }), ...spec },
    container: own === undefined ? {} : { securityContext: own },
    more,
  })
  const image = {
    ...input.image,
    ...(uid !== undefined && { uid }),
    ...(username !== undefined && { username }),
  }
  return containerSecurity({ ...input, image })
}

/** Asserts that the result contains the expected fields. */
function check(asked: Asked, expected: Partial<Record<keyof ContainerSecurity, unknown>>): void {
  const found = secured(asked)
  for (const [key, value] of Object.entries(expected)) {
    assert.deepEqual(found[key as keyof ContainerSecurity], value, `${key} of ${JSON.stringify(asked)}`)
  }
}

test('the user of the container wins over that of the pod and of the image', () => {
  check({}, { runAsUser: 0, runAsUsername: undefined, runAsGroup: undefined })
  check({ uid: 5 }, { runAsUser: 5, runAsUsername: undefined })
  check({ username: 'www' }, { runAsUser: undefined, runAsUsername: 'www' })
  check({ uid: 5, pod: { runAsUser: 7 } }, { runAsUser: 7 })
  check({ username: 'www', own: { runAsUser: 8 } }, { runAsUser: 8, runAsUsername: undefined })
  check({ pod: { runAsUser: 7, runAsGroup: 9 }, own: { runAsUser: 0 } }, { runAsUser: 0, runAsGroup: 9 })
  check({ pod: { runAsGroup: 9 }, own: { runAsGroup: 0 } }, { runAsGroup: 0 })
  const label = { user: '', role: '', type: 't', level: '' }
  check(
    { pod: { seLinuxOptions: { type: 's' } }, own: { seLinuxOptions: { type: 't' } } },
    { selinux: label },
  )
})

test('runAsNonRoot rejects a container that would run as root', () => {
  const where = '(pod: "web_shop(u-1)", container: c)'
  const numeric = 'container has runAsNonRoot and image has non-numeric user'
  const cases: readonly (readonly [Asked, string | undefined])[] = [
    [{ own: { runAsNonRoot: false } }, undefined],
    [{ own: { runAsNonRoot: true }, uid: 5 }, undefined],
    [{ pod: { runAsNonRoot: true }, own: { runAsNonRoot: false } }, undefined],
    [{ pod: { runAsNonRoot: true }, own: { runAsUser: 1 }, username: 'root' }, undefined],
    [{ own: { runAsNonRoot: true } }, `container has runAsNonRoot and image will run as root ${where}`],
    [
      { pod: { runAsNonRoot: true }, uid: 0 },
      `container has runAsNonRoot and image will run as root ${where}`,
    ],
    [
      { pod: { runAsNonRoot: true, runAsUser: 0 }, uid: 5 },
      `container's runAsUser breaks non-root policy ${where}`,
    ],
    [
      { own: { runAsNonRoot: true }, username: 'www' },
      `${numeric} (www), cannot verify user is non-root ${where}`,
    ],
  ]
  for (const [asked, message] of cases) {
    if (message === undefined) assert.doesNotThrow(() => secured(asked), JSON.stringify(asked))
    else assert.throws(() => secured(asked), { message })
  }
  assert.throws(
    () => secured({ own: { runAsNonRoot: true }, uid: 2 ** 31 }),
    /image has an invalid user id \(2147483648\)\. \(Must be 1-\(2147483647\)\)/,
  )
})

test('privileged mode and capabilities are only those requested', () => {
  const none = { privileged: false, readonlyRootfs: false, noNewPrivileges: false, addCapabilities: [] }
  check({}, { ...none, dropCapabilities: [], seccomp: { type: 'Unconfined' }, apparmor: undefined })
  check({ own: { privileged: true } }, { privileged: true })
  check({ own: { readOnlyRootFilesystem: true } }, { readonlyRootfs: true })
  check({ own: { allowPrivilegeEscalation: false } }, { noNewPrivileges: true })
  check({ own: { allowPrivilegeEscalation: true } }, { noNewPrivileges: false })
  const capabilities = { add: ['NET_ADMIN'], drop: ['ALL'] }
  check({ own: { capabilities } }, { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['ALL'] })
})

test('/proc paths are masked and read-only unless procMount is Unmasked', () => {
  const found = secured({ more: { machine: { ...machine, maskedPaths: ['/sys/hot'] } } })
  assert.ok(found.maskedPaths.includes('/proc/kcore') && found.maskedPaths.includes('/sys/hot'))
  assert.deepEqual(found.readonlyPaths, [
    '/proc/bus',
    '/proc/fs',
    '/proc/irq',
    '/proc/sys',
    '/proc/sysrq-trigger',
  ])
  check({ own: { procMount: 'Unmasked' } }, { maskedPaths: [], readonlyPaths: [] })
})

test('seccomp and AppArmor profiles are those of the container, then of the pod', () => {
  const own = (type: string, localhostProfile?: string): Asked => ({
    own: { seccompProfile: { type, ...(localhostProfile !== undefined && { localhostProfile }) } },
  })
  const withDefault = { node: { ...node, seccompDefault: true } }
  check({ more: withDefault }, { seccomp: { type: 'RuntimeDefault' } })
  check({ ...own('Unconfined'), more: withDefault }, { seccomp: { type: 'Unconfined' } })
  check(own('RuntimeDefault'), { seccomp: { type: 'RuntimeDefault' } })
  check(own('Localhost', 'a/b.json'), {
    seccomp: { type: 'Localhost', localhostRef: '/node/seccomp/a/b.json' },
  })
  check({ pod: { seccompProfile: { type: 'RuntimeDefault' } } }, { seccomp: { type: 'RuntimeDefault' } })
  check(
    { ...own('Unconfined'), pod: { seccompProfile: { type: 'RuntimeDefault' } } },
    { seccomp: { type: 'Unconfined' } },
  )
  const missing = 'localhostProfile must be set if seccompProfile type is Localhost.'
  assert.throws(() => secured(own('Localhost')), { message: missing })
  const armor = { type: 'Localhost', localhostProfile: 'mine' }
  check({ own: { appArmorProfile: armor } }, { apparmor: { type: 'Localhost', localhostRef: 'mine' } })
  check({ pod: { appArmorProfile: { type: 'Unconfined' } } }, { apparmor: { type: 'Unconfined' } })
})

test('supplemental groups include the groups of volumes', () => {
  const groups = (pod: PodSecurityContext | undefined, ...ofVolumes: number[]): string => {
    const volumes = new Map(
      ofVolumes.map((supplementalGroup, index): readonly [string, ContainerVolume] => {
        return [`v${index}`, { name: `v${index}`, hostPath: '/v', readonly: false, supplementalGroup }]
      }),
    )
    const found = secured({ ...(pod && { pod }), more: { volumes } })
    return `${found.supplementalGroupsPolicy} ${found.supplementalGroups.join(' ')}`
  }
  assert.equal(groups(undefined), 'Merge ')
  assert.equal(groups({ fsGroup: 5 }), 'Merge 5')
  assert.equal(groups({ fsGroup: 5, supplementalGroups: [6, 7] }, 8), 'Merge 5 6 7 8')
  assert.equal(groups({ supplementalGroupsPolicy: 'Strict', supplementalGroups: [6] }), 'Strict 6')
  const message = 'unsupported supplementalGroupsPolicy: Odd'
  assert.throws(() => groups({ supplementalGroupsPolicy: 'Odd' }), { message })
})

test('namespace modes are node, pod or target container', () => {
  const shared = (spec: Partial<PodSpec>, more: Partial<ContainerInput> = {}): unknown =>
    secured({ spec, more }).namespaces
  const usual = { network: 'pod', pid: 'container', ipc: 'pod' }
  assert.deepEqual(shared({}), usual)
  assert.deepEqual(shared({ hostNetwork: true }), { ...usual, network: 'node' })
  assert.deepEqual(shared({ hostPID: true, hostIPC: true }), { ...usual, pid: 'node', ipc: 'node' })
  assert.deepEqual(shared({ shareProcessNamespace: true }), { ...usual, pid: 'pod' })
  assert.deepEqual(shared({}, { targetContainerId: 'x' }), { ...usual, pid: { target: 'x' } })
  assert.deepEqual(shared({ hostPID: true }, { targetContainerId: 'x' }), { ...usual, pid: 'node' })
  assert.deepEqual(shared({ hostUsers: true }), usual)
})

test('a pod with user namespaces needs a runtime that supports them', () => {
  const users = { uids: [{ hostId: 65536, containerId: 0, length: 65536 }], gids: [] }
  const able = { name: '', supportsUserNamespaces: true, supportsRecursiveReadOnlyMounts: false }
  const spec = { hostUsers: false }
  assert.deepEqual(secured({ spec, more: { users, handler: able } }).namespaces.users, users)
  const message = "can't set `spec.hostUsers: false`, runtime does not support user namespaces"
  assert.throws(() => secured({ spec }), { message })
  const handler = { ...able, name: 'old', supportsUserNamespaces: false }
  const named =
    'can\'t set `spec.hostUsers: false`, RuntimeClass handler "old" does not support user namespaces'
  assert.throws(() => secured({ spec, more: { users, handler } }), { message: named })
})

test('a sandbox is as privileged as the most privileged of its containers', () => {
  const context = { attempt: 0, node, machine, resolvConf: '' }
  const plain = sandboxSecurity(podWith({ securityContext: { runAsUser: 5, fsGroup: 6 } }), context)
  assert.equal(plain.privileged, false)
  assert.equal(plain.runAsUser, 5)
  assert.deepEqual(plain.supplementalGroups, [6])
  assert.deepEqual(plain.seccomp, { type: 'RuntimeDefault' })
  const container = { name: 'c', securityContext: { privileged: true } }
  for (const place of ['containers', 'initContainers', 'ephemeralContainers'] as const) {
    assert.equal(sandboxSecurity(podWith({ [place]: [container] }), context).privileged, true, place)
  }
})
