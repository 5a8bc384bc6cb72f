import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod, SecurityContext } from '#/api/generated/core/v1.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { applyCustomProfile, checkCustomProfile } from './custom-profile.ts'
import type { ProfileName } from './debug-profile.ts'
import {
  needsRootWarning,
  planEphemeralContainer,
  planNodePod,
  planPodCopy,
  type CopySettings,
  type DebugSettings,
} from './plan-debug-pod.ts'

const probe = { exec: { command: ['x'] } }

const pod: Pod = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'web', namespace: 'n', uid: 'u', labels: { a: 'b' }, annotations: { c: 'd' } },
  spec: {
    nodeName: 'node',
    containers: [
      {
        name: 'app',
        image: 'app:1',
        args: ['run'],
        livenessProbe: probe,
        readinessProbe: probe,
        startupProbe: probe,
        securityContext: { capabilities: { add: ['KILL'] } },
      },
      { name: 'side', image: 'side:1' },
    ],
    initContainers: [{ name: 'init', image: 'init:1' }],
    ephemeralContainers: [{ name: 'old', image: 'old:1' }],
  },
  status: { phase: 'Running' },
}

const nothingKept = {
  labels: false,
  annotations: false,
  liveness: false,
  readiness: false,
  startup: false,
  initContainers: true,
}

const settings: DebugSettings = {
  container: 'debugger',
  image: 'busybox',
  imagePullPolicy: '',
  words: [],
  argumentsOnly: false,
  env: [],
  stdin: false,
  tty: false,
  profile: 'legacy',
  kept: nothingKept,
}

const copySettings: CopySettings = {
  ...settings,
  name: 'copy',
  images: new Map(),
  sameNode: false,
  shareProcesses: undefined,
}

const usualFields = { name: 'debugger', image: 'busybox', resources: {}, terminationMessagePolicy: 'File' }

test('an ephemeral container has what the flags say', () => {
  const check = (changes: Partial<DebugSettings> & { readonly target?: string }, expected: object): void => {
    const planned = planEphemeralContainer(pod, { target: '', ...settings, ...changes })
    assert.deepEqual(planned, { ...usualFields, ...expected })
  }
  check({}, {})
  check({ target: 'app', stdin: true, tty: true }, { targetContainerName: 'app', stdin: true, tty: true })
  check({ words: ['a', 'b'] }, { command: ['a', 'b'] })
  check({ words: ['a'], argumentsOnly: true }, { args: ['a'] })
  check(
    { env: [{ name: 'A', value: 'b' }], imagePullPolicy: 'Never' },
    {
      env: [{ name: 'A', value: 'b' }],
      imagePullPolicy: 'Never',
    },
  )
  // Even if a container of the pod has the name, which the server rejects.
  check({ container: 'app', profile: 'sysadmin' }, { name: 'app', securityContext: { privileged: true } })
})

test('profiles grant and remove rights of the container', () => {
  const restricted: SecurityContext = {
    runAsNonRoot: true,
    capabilities: { drop: ['ALL'] },
    allowPrivilegeEscalation: false,
    seccompProfile: { type: 'RuntimeDefault' },
  }
  const check = (profile: ProfileName, added: object | undefined, ofApp: object | undefined): void => {
    const container = planEphemeralContainer(pod, { ...settings, profile, target: '' })
    assert.deepEqual(container.securityContext, added, `${profile} ephemeral`)
    const copy = planPodCopy(pod, { ...copySettings, profile, container: 'app' })
    assert.deepEqual(copy.spec?.containers[0]?.securityContext, ofApp, `${profile} copy`)
  }
  check('legacy', undefined, { capabilities: { add: ['KILL'] } })
  check(
    'general',
    { capabilities: { add: ['SYS_PTRACE'] } },
    { capabilities: { add: ['KILL', 'SYS_PTRACE'] } },
  )
  check('baseline', undefined, undefined)
  check('restricted', restricted, restricted)
  const network = ['NET_ADMIN', 'NET_RAW']
  check('netadmin', { capabilities: { add: network } }, { capabilities: { add: ['KILL', ...network] } })
  check('sysadmin', { privileged: true }, { capabilities: { add: ['KILL'] }, privileged: true })
})

test('a pod on a node uses its namespaces and files as the profile says', () => {
  const check = (profile: ProfileName, expected: string): void => {
    const { metadata, spec } = planNodePod('node-1', { ...settings, profile, podName: 'p' })
    assert.deepEqual(metadata, { name: 'p', labels: { 'app.kubernetes.io/managed-by': 'kubectl-debug' } })
    const { nodeName, restartPolicy, tolerations } = spec!
    assert.deepEqual(
      { nodeName, restartPolicy, tolerations },
      {
        nodeName: 'node-1',
        restartPolicy: 'Never',
        tolerations: [{ operator: 'Exists' }],
      },
    )
    const mounts = spec?.containers[0]?.volumeMounts?.map(each => each.mountPath) ?? []
    const namespaces = [spec?.hostNetwork, spec?.hostPID, spec?.hostIPC].filter(Boolean).length
    const context = JSON.stringify(spec?.containers[0]?.securityContext ?? {})
    assert.equal(`${mounts.join()} ${namespaces} ${context}`, expected, profile)
  }
  check('legacy', '/host 3 {}')
  check('general', '/host 3 {}')
  check('baseline', ' 0 {}')
  check('netadmin', ' 3 {"capabilities":{"add":["NET_ADMIN","NET_RAW"]}}')
  check('sysadmin', '/host 3 {"privileged":true}')
})

/** `container=image command|args stdin` of all containers, after what the copy has kept. */
function showCopy(changes: Partial<CopySettings>): string {
  const { metadata, spec, status } = planPodCopy(pod, { ...copySettings, ...changes })
  assert.equal(status, undefined)
  assert.equal(metadata.uid, undefined)
  assert.equal(spec?.ephemeralContainers, undefined)
  const [app] = spec?.containers ?? []
  const kept = [
    metadata.labels && 'labels',
    metadata.annotations && 'annotations',
    spec?.initContainers && 'init',
    app?.livenessProbe && 'live',
    app?.readinessProbe && 'ready',
    app?.startupProbe && 'startup',
    spec?.nodeName,
    spec?.shareProcessNamespace !== undefined && `shared=${spec.shareProcessNamespace}`,
  ]
  const containers = spec?.containers.map(({ name, image, command, args }) => {
    return `${name}=${image}${command ? ` ${command.join()}` : ''}${args ? ` (${args.join()})` : ''}`
  })
  return `${metadata.name}: ${kept.filter(Boolean).join(' ')}; ${containers?.join(', ')}`
}

test('the copy of a pod keeps what it is told, with a container added or changed', () => {
  const check = (changes: Partial<CopySettings>, expected: string): void => {
    assert.equal(showCopy(changes), expected)
  }
  const others = 'app=app:1 (run), side=side:1'
  check({}, `copy: annotations init live ready startup; ${others}, debugger=busybox`)
  check({ profile: 'general' }, `copy: init shared=true; ${others}, debugger=busybox`)
  const all = {
    labels: true,
    annotations: true,
    liveness: true,
    readiness: true,
    startup: true,
    initContainers: true,
  }
  const everything = 'labels annotations init live ready startup'
  check({ profile: 'general', kept: all }, `copy: ${everything} shared=true; ${others}, debugger=busybox`)
  check(
    {
      profile: 'general',
      kept: { ...nothingKept, initContainers: false },
      sameNode: true,
      shareProcesses: false,
    },
    `copy: node shared=false; ${others}, debugger=busybox`,
  )
  const profile = 'general'
  const head = 'copy: init shared=true;'
  check({ profile, container: 'app', image: '', words: ['sh'] }, `${head} app=app:1 sh, side=side:1`)
  check(
    { profile, container: 'app', image: 'x', words: ['y'], argumentsOnly: true },
    `${head} app=x (y), side=side:1`,
  )
  const images = new Map([
    ['*', 'all'],
    ['side', 'mine'],
  ])
  check({ profile, container: '', image: '', images }, `copy: ${everything}; app=all (run), side=mine`)
  check({ profile, container: 'new', image: '', images }, `copy: ${everything}; app=all (run), side=mine`)
  check({ profile, images }, `${head} app=all (run), side=mine, debugger=busybox`)
  assert.throws(
    () => showCopy({ container: 'new', image: '' }),
    /^Error: you must specify image when creating new container$/,
  )
})

test('rights that a user other than root cannot use are warned of', () => {
  const check = (runAsUser: number | undefined, context: SecurityContext, expected: boolean): void => {
    const securityContext = runAsUser === undefined ? {} : { runAsUser }
    const target: Pod = { ...pod, spec: { ...pod.spec!, securityContext } }
    const container = { name: 'c', image: 'i', securityContext: context }
    assert.equal(needsRootWarning(target, container), expected)
  }
  check(1000, { privileged: true }, true)
  check(1000, { capabilities: { add: ['SYS_PTRACE'] } }, true)
  check(1000, {}, false)
  check(1000, { privileged: true, runAsUser: 0 }, false)
  check(0, { privileged: true }, false)
  check(undefined, { privileged: true }, false)
})

test('a custom profile is merged into the container', async () => {
  const check = async (profile: JsonObject, expected: object): Promise<void> => {
    const container = { name: 'c', image: 'i', env: [{ name: 'A', value: '1' }], args: ['a'], tty: true }
    assert.deepEqual(await applyCustomProfile(container, profile), { ...container, ...expected })
  }
  await check({}, {})
  await check(
    {
      env: [
        { name: 'B', value: '2' },
        { name: 'A', value: '3' },
      ],
    },
    {
      env: [
        { name: 'B', value: '2' },
        { name: 'A', value: '3' },
      ],
    },
  )
  await check(
    { args: ['b'], securityContext: { runAsUser: 0 } },
    { args: ['b'], securityContext: { runAsUser: 0 } },
  )
})

test('a custom profile must not change what identifies the container', () => {
  const refused: readonly JsonObject[] = [
    { name: 'a' },
    { image: 'a' },
    { command: ['a'] },
    { lifecycle: {} },
    { volumeDevices: [{}] },
  ]
  for (const profile of refused) {
    assert.throws(() => checkCustomProfile(profile), /not modifiable via custom profile/)
  }
  checkCustomProfile({ name: '', command: [], env: [] })
})
