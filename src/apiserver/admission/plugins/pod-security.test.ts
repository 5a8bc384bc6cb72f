import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { podSecurity } from './pod-security.ts'
import { container, namespace, pod, startWith } from '../testdata/plugin-server.ts'

/**
 * Checks a pod (spec and annotations) against a level and version. `expected` lists the violations, or is
 * `ok`.
 */
type Check = (policy: string, spec: object, expected: string, annotations?: object) => Promise<void>

/** Pods are created in namespaces that enforce the level; the namespaces are created lazily. */
async function start(t: TestContext): Promise<Check> {
  const { create, given } = await startWith(t, podSecurity)
  const made = new Map<string, Promise<unknown>>()
  return async (policy, spec, expected, annotations = {}) => {
    const [level = '', version = 'latest'] = policy.split(':')
    const name = policy.replaceAll(/[:.]/gu, '-')
    const labels = {
      'pod-security.kubernetes.io/enforce': level,
      'pod-security.kubernetes.io/enforce-version': version,
    }
    if (!made.has(name)) made.set(name, given('/api/v1/namespaces', namespace(name, { labels })))
    await made.get(name)
    const text = await create(`/api/v1/namespaces/${name}/pods?dryRun=All`, pod('p', spec, { annotations }))
    const violations = `403 pods "p" is forbidden: violates PodSecurity "${level}:${version}": ${expected}`
    assert.equal(text, expected === 'ok' ? 'ok' : violations, `${policy} ${JSON.stringify(spec)}`)
  }
}

const escalation = { allowPrivilegeEscalation: false }
const drop = { capabilities: { drop: ['ALL'] } }
const strictContainer = { ...escalation, ...drop }
const strictPod = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }

/** A pod that satisfies the restricted level except for the given changes. */
function strict(inPod: object = {}, inContainer: object = {}, spec: object = {}): object {
  const contained = container({ securityContext: { ...strictContainer, ...inContainer } })
  return { containers: [contained], securityContext: { ...strictPod, ...inPod }, ...spec }
}

/** A pod with one container that has this security context. */
function inside(securityContext: object): object {
  return { containers: [container({ securityContext })] }
}

/** A pod with an init container that has this security context, and a plain container. */
function initially(securityContext: object): object {
  return { initContainers: [container({ name: 'i', securityContext })] }
}

function volumes(...sources: readonly object[]): object {
  return { volumes: sources.map((source, index) => ({ name: `v${index}`, ...source })) }
}

describe('PodSecurity baseline', () => {
  test('a plain pod is admitted, and the privileged level admits everything', async t => {
    const check = await start(t)
    await check('baseline', {}, 'ok')
    await check('baseline:v1.0', {}, 'ok')
    await check('baseline:v1.99', {}, 'ok')
    await check('privileged', inside({ privileged: true }), 'ok')
    await check('baseline', strict(), 'ok')
  })

  test('host namespaces', async t => {
    const check = await start(t)
    await check('baseline', { hostNetwork: true }, 'host namespaces (hostNetwork=true)')
    await check('baseline', { hostPID: true }, 'host namespaces (hostPID=true)')
    await check('baseline', { hostIPC: true }, 'host namespaces (hostIPC=true)')
    await check(
      'baseline',
      { hostNetwork: true, hostPID: true, hostIPC: true },
      'host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)',
    )
    await check('baseline', { hostNetwork: false, hostPID: false, hostIPC: false }, 'ok')
  })

  test('privileged', async t => {
    const check = await start(t)
    const detail = (who: string): string => `privileged (${who} must not set securityContext.privileged=true)`
    await check('baseline', inside({ privileged: true }), detail('container "a"'))
    await check('baseline', initially({ privileged: true }), detail('container "i"'))
    await check(
      'baseline',
      { ...inside({ privileged: true }), ...initially({ privileged: true }) },
      detail('containers "i", "a"'),
    )
    await check('baseline', inside({ privileged: false }), 'ok')
  })

  test('capabilities', async t => {
    const check = await start(t)
    const detail = (who: string, which: string): string =>
      `non-default capabilities (${who} must not include ${which} in securityContext.capabilities.add)`
    const usual = [
      'AUDIT_WRITE',
      'CHOWN',
      'DAC_OVERRIDE',
      'FOWNER',
      'FSETID',
      'KILL',
      'MKNOD',
      'NET_BIND_SERVICE',
      'SETFCAP',
      'SETGID',
      'SETPCAP',
      'SETUID',
      'SYS_CHROOT',
    ]
    await check('baseline', inside({ capabilities: { add: usual } }), 'ok')
    await check(
      'baseline',
      inside({ capabilities: { add: ['NET_RAW'] } }),
      detail('container "a"', '"NET_RAW"'),
    )
    await check('baseline', inside({ capabilities: { add: ['chown'] } }), detail('container "a"', '"chown"'))
    await check(
      'baseline',
      inside({ capabilities: { add: ['CAP_CHOWN'] } }),
      detail('container "a"', '"CAP_CHOWN"'),
    )
    await check(
      'baseline',
      initially({ capabilities: { add: ['SYS_ADMIN', 'NET_RAW'] } }),
      detail('container "i"', '"NET_RAW", "SYS_ADMIN"'),
    )
    await check('baseline', inside({ capabilities: { drop: ['ALL'] } }), 'ok')
  })

  test('hostPath volumes', async t => {
    const check = await start(t)
    const path = { hostPath: { path: '/x' } }
    await check('baseline', volumes(path), 'hostPath volumes (volume "v0")')
    await check('baseline', volumes({ emptyDir: {} }, path, path), 'hostPath volumes (volumes "v1", "v2")')
    await check(
      'baseline',
      volumes({ emptyDir: {} }, { secret: { secretName: 's' } }, { nfs: { server: 's', path: '/' } }),
      'ok',
    )
  })

  test('host ports', async t => {
    const check = await start(t)
    const ports = (...hostPorts: readonly number[]): object => ({
      ports: hostPorts.map((hostPort, index) => ({
        containerPort: index + 1_000,
        ...(hostPort && { hostPort }),
      })),
    })
    await check('baseline', { containers: [container(ports(0))] }, 'ok')
    await check(
      'baseline',
      { containers: [container(ports(80))] },
      'hostPort (container "a" uses hostPort 80)',
    )
    await check(
      'baseline',
      { containers: [container(ports(80, 443))] },
      'hostPort (container "a" uses hostPorts 443, 80)',
    )
    await check(
      'baseline',
      {
        initContainers: [container({ name: 'i', ...ports(81) })],
        containers: [container(ports(80))],
      },
      'hostPort (containers "i", "a" use hostPorts 80, 81)',
    )
  })

  test('host fields of probes and lifecycle handlers', async t => {
    const check = await start(t)
    const get = { httpGet: { port: 80, host: '10.0.0.1' } }
    const socket = { tcpSocket: { port: 80, host: 'example.com' } }
    const detail = (host: string): string =>
      `probe or lifecycle host (container "a" uses probe or lifecycle host "${host}")`
    for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
      await check('baseline', { containers: [container({ [probe]: get })] }, detail('10.0.0.1'))
      await check('baseline', { containers: [container({ [probe]: socket })] }, detail('example.com'))
    }
    await check('baseline', { containers: [container({ lifecycle: { preStop: get } })] }, detail('10.0.0.1'))
    await check(
      'baseline',
      { containers: [container({ lifecycle: { postStart: get } })] },
      detail('10.0.0.1'),
    )
    await check(
      'baseline',
      { containers: [container({ livenessProbe: get, readinessProbe: socket })] },
      'probe or lifecycle host (container "a" uses probe or lifecycle hosts "10.0.0.1", "example.com")',
    )
    await check('baseline:v1.33', { containers: [container({ livenessProbe: get })] }, 'ok')
    await check('baseline:v1.34', { containers: [container({ livenessProbe: get })] }, detail('10.0.0.1'))
    await check('baseline', { containers: [container({ livenessProbe: { httpGet: { port: 80 } } })] }, 'ok')
  })

  test('Windows host processes', async t => {
    const check = await start(t)
    const hostProcess = { windowsOptions: { hostProcess: true } }
    const detail = (who: string): string =>
      `hostProcess (${who} must not set securityContext.windowsOptions.hostProcess=true)`
    const network = 'host namespaces (hostNetwork=true), '
    await check('baseline', { hostNetwork: true, securityContext: hostProcess }, network + detail('pod'))
    await check('baseline', { hostNetwork: true, ...inside(hostProcess) }, network + detail('container "a"'))
    await check(
      'baseline',
      { hostNetwork: true, securityContext: hostProcess, ...inside(hostProcess) },
      network + detail('pod and container "a"'),
    )
    await check('baseline', { securityContext: { windowsOptions: { hostProcess: false } } }, 'ok')
  })

  test('AppArmor profiles', async t => {
    const check = await start(t)
    const profile = (type: string): object => ({
      appArmorProfile: { type, ...(type === 'Localhost' && { localhostProfile: 'x' }) },
    })
    const detail = (who: string, what: string): string =>
      `forbidden AppArmor profile (${who} must not set AppArmor profile type to ${what})`
    await check('baseline', inside(profile('RuntimeDefault')), 'ok')
    await check('baseline', { securityContext: profile('Localhost') }, 'ok')
    await check('baseline', inside(profile('Unconfined')), detail('container "a"', '"Unconfined"'))
    await check('baseline', { securityContext: profile('Unconfined') }, detail('pod', '"Unconfined"'))
    await check(
      'baseline',
      { securityContext: profile('Unconfined'), ...inside(profile('Unconfined')) },
      detail('pod and container "a"', '"Unconfined"'),
    )
    const annotation = (value: string): object => ({
      'container.apparmor.security.beta.kubernetes.io/a': value,
    })
    await check('baseline', {}, 'ok', annotation('runtime/default'))
    await check('baseline', {}, 'ok', annotation('localhost/x'))
    await check(
      'baseline',
      {},
      'forbidden AppArmor profiles (container "a" and annotation must not set ' +
        'AppArmor profile type to ' +
        '"Unconfined", "container.apparmor.security.beta.kubernetes.io/a="unconfined"")',
      annotation('unconfined'),
    )
  })

  test('SELinux options', async t => {
    const check = await start(t)
    const options = (seLinuxOptions: object): object => ({ seLinuxOptions })
    const detail = (who: string, what: string): string =>
      `seLinuxOptions (${who} set forbidden securityContext.seLinuxOptions: ${what})`
    for (const type of ['container_t', 'container_init_t', 'container_kvm_t']) {
      await check('baseline', inside(options({ type })), 'ok')
    }
    await check('baseline', inside(options({ level: 's0:c1' })), 'ok')
    await check('baseline', inside(options({ type: 'spc_t' })), detail('container "a"', 'type "spc_t"'))
    await check('baseline', { securityContext: options({ user: 'u' }) }, detail('pod', 'user may not be set'))
    await check('baseline', initially(options({ role: 'r' })), detail('container "i"', 'role may not be set'))
    await check(
      'baseline',
      {
        securityContext: options({ type: 'b' }),
        ...inside(options({ type: 'a', user: 'u', role: 'r' })),
      },
      detail('pod and container "a"', 'types "a", "b"; user may not be set; role may not be set'),
    )
    await check(
      'baseline:v1.30',
      inside(options({ type: 'container_engine_t' })),
      detail('container "a"', 'type "container_engine_t"'),
    )
    await check('baseline:v1.31', inside(options({ type: 'container_engine_t' })), 'ok')
  })

  test('/proc mount types', async t => {
    const check = await start(t)
    const unmasked = { procMount: 'Unmasked' }
    const detail = 'procMount (container "a" must not set securityContext.procMount to "Unmasked")'
    await check('baseline', inside({ procMount: 'Default' }), 'ok')
    await check('baseline:v1.34', { hostUsers: false, ...inside(unmasked) }, detail)
    await check('baseline:v1.35', { hostUsers: false, ...inside(unmasked) }, 'ok')
    await check('restricted:v1.35', strict({}, unmasked, { hostUsers: false }), detail)
    await check('restricted:v1.34', strict({}, unmasked, { hostUsers: false }), detail)
  })

  test('seccomp profiles', async t => {
    const check = await start(t)
    const profile = (type: string): object => ({
      seccompProfile: { type, ...(type === 'Localhost' && { localhostProfile: 'x' }) },
    })
    const detail = (who: string): string =>
      `seccompProfile (${who} must not set securityContext.seccompProfile.type to "Unconfined")`
    for (const type of ['RuntimeDefault', 'Localhost']) {
      await check('baseline', inside(profile(type)), 'ok')
      await check('baseline', { securityContext: profile(type) }, 'ok')
    }
    await check('baseline', { securityContext: profile('Unconfined') }, detail('pod'))
    await check('baseline', inside(profile('Unconfined')), detail('container "a"'))
    await check(
      'baseline',
      { securityContext: profile('Unconfined'), ...initially(profile('Unconfined')) },
      detail('pod and container "i"'),
    )
    await check('baseline:v1.18', inside(profile('Unconfined')), 'ok')
    const old = {
      'seccomp.security.alpha.kubernetes.io/pod': 'unconfined',
      'container.seccomp.security.alpha.kubernetes.io/a': 'unconfined',
    }
    await check(
      'baseline:v1.18',
      {},
      'seccompProfile (forbidden annotations ' +
        'container.seccomp.security.alpha.kubernetes.io/a="unconfined", ' +
        'seccomp.security.alpha.kubernetes.io/pod="unconfined")',
      old,
    )
    await check('baseline:v1.18', {}, 'ok', { 'seccomp.security.alpha.kubernetes.io/pod': 'runtime/default' })
    await check('baseline:v1.19', {}, 'ok', old)
  })

  test('sysctls', async t => {
    const check = await start(t)
    const set = (...names: readonly string[]): object => ({
      securityContext: { sysctls: names.map(name => ({ name, value: '1' })) },
    })
    await check(
      'baseline',
      set('kernel.msgmax', 'net.core.somaxconn'),
      'forbidden sysctls (kernel.msgmax, net.core.somaxconn)',
    )
    for (const name of [
      'kernel.shm_rmid_forced',
      'net.ipv4.ip_local_port_range',
      'net.ipv4.tcp_syncookies',
      'net.ipv4.ping_group_range',
      'net.ipv4.ip_unprivileged_port_start',
    ])
      await check('baseline:v1.0', set(name), 'ok')
    for (const [name, since] of [
      ['net.ipv4.ip_local_reserved_ports', 27],
      ['net.ipv4.tcp_keepalive_time', 29],
      ['net.ipv4.tcp_fin_timeout', 29],
      ['net.ipv4.tcp_keepalive_intvl', 29],
      ['net.ipv4.tcp_keepalive_probes', 29],
      ['net.ipv4.tcp_rmem', 32],
      ['net.ipv4.tcp_wmem', 32],
    ] as const) {
      await check(`baseline:v1.${since - 1}`, set(name), `forbidden sysctls (${name})`)
      await check(`baseline:v1.${since}`, set(name), 'ok')
      await check('baseline', set(name), 'ok')
    }
  })
})

describe('PodSecurity restricted', () => {
  test('a conforming pod is admitted by all versions', async t => {
    const check = await start(t)
    for (const version of ['v1.0', 'v1.8', 'v1.19', 'v1.22', 'v1.25', 'v1.35', 'v1.36', 'latest']) {
      await check(`restricted:${version}`, strict(), 'ok')
    }
  })

  test('a plain pod is rejected with all violations of the version', async t => {
    const check = await start(t)
    const escalates =
      'allowPrivilegeEscalation != false (container "a" must set ' +
      'securityContext.allowPrivilegeEscalation=false)'
    const keeps =
      'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"])'
    const root = 'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)'
    const profile =
      'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to ' +
      '"RuntimeDefault" or "Localhost")'
    await check('restricted', {}, [escalates, keeps, root, profile].join(', '))
    await check('restricted:v1.21', {}, [escalates, root, profile].join(', '))
    await check('restricted:v1.18', {}, [escalates, root].join(', '))
    await check('restricted:v1.7', {}, root)
  })

  test('everything forbidden by baseline is forbidden', async t => {
    const check = await start(t)
    await check('restricted', strict({}, {}, { hostNetwork: true }), 'host namespaces (hostNetwork=true)')
    await check(
      'restricted',
      strict({ sysctls: [{ name: 'kernel.msgmax', value: '1' }] }),
      'forbidden sysctls (kernel.msgmax)',
    )
    await check(
      'restricted',
      strict({ seLinuxOptions: { user: 'u' } }),
      'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: user may not be set)',
    )
  })

  test('volume types', async t => {
    const check = await start(t)
    const ephemeral = {
      volumeClaimTemplate: {
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    }
    for (const source of [
      { configMap: { name: 'c' } },
      {
        csi: { driver: 'd.example.com' },
      },
      { downwardAPI: {} },
      { emptyDir: {} },
      { ephemeral },
      { image: { reference: 'x' } },
      {
        persistentVolumeClaim: { claimName: 'c' },
      },
      { projected: { sources: [] } },
      { secret: { secretName: 's' } },
    ])
      await check('restricted', strict({}, {}, volumes(source)), 'ok')
    for (const [type, source] of Object.entries({
      hostPath: { path: '/x' },
      nfs: { server: 's', path: '/' },
      iscsi: {
        targetPortal: '1.1.1.1:1',
        iqn: 'iqn.2000-01.com.example:x',
        lun: 0,
      },
      gcePersistentDisk: { pdName: 'd' },
      awsElasticBlockStore: { volumeID: 'v' },
      fc: { targetWWNs: ['w'], lun: 0 },
      glusterfs: { endpoints: 'e', path: 'p' },
      cephfs: { monitors: ['m'] },
      rbd: { monitors: ['m'], image: 'i' },
      azureFile: { secretName: 's', shareName: 'n' },
      vsphereVolume: { volumePath: 'p' },
      flexVolume: { driver: 'a/b' },
      portworxVolume: { volumeID: 'v' },
      quobyte: {
        registry: 'r:1',
        volume: 'v',
      },
      cinder: { volumeID: 'v' },
      flocker: { datasetName: 'd' },
    })) {
      await check(
        'restricted',
        strict({}, {}, volumes({ [type]: source })),
        `restricted volume types (volume "v0" uses restricted volume type "${type}")`,
      )
    }
    await check(
      'restricted',
      strict({}, {}, volumes({ hostPath: { path: '/x' } }, { nfs: { server: 's', path: '/' } })),
      'restricted volume types (volumes "v0", "v1" use restricted volume types "hostPath", "nfs")',
    )
  })

  test('privilege escalation', async t => {
    const check = await start(t)
    const detail =
      'allowPrivilegeEscalation != false (container "a" must set ' +
      'securityContext.allowPrivilegeEscalation=false)'
    await check('restricted', strict({}, { allowPrivilegeEscalation: true }), detail)
    await check('restricted:v1.8', strict({}, { allowPrivilegeEscalation: true }), detail)
    await check('restricted:v1.7', strict({}, { allowPrivilegeEscalation: true }), 'ok')
  })

  test('capabilities', async t => {
    const check = await start(t)
    const adds = (which: string): string =>
      `container "a" must not include ${which} in securityContext.capabilities.add`
    const keeps = 'container "a" must set securityContext.capabilities.drop=["ALL"]'
    await check(
      'restricted',
      strict({}, { capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } }),
      'ok',
    )
    await check(
      'restricted',
      strict({}, { capabilities: { drop: ['ALL'], add: ['CHOWN'] } }),
      `unrestricted capabilities (${adds('"CHOWN"')})`,
    )
    await check(
      'restricted',
      strict({}, { capabilities: { add: ['NET_RAW', 'CHOWN'] } }),
      `unrestricted capabilities (${keeps}; ${adds('"CHOWN", "NET_RAW"')})`,
    )
    await check(
      'restricted',
      strict({}, { capabilities: { drop: ['CHOWN', 'all'] } }),
      `unrestricted capabilities (${keeps})`,
    )
    await check('restricted:v1.21', strict({}, { capabilities: { add: ['CHOWN'] } }), 'ok')
    await check(
      'restricted:v1.21',
      strict({}, { capabilities: { add: ['NET_RAW'] } }),
      `non-default capabilities (${adds('"NET_RAW"')})`,
    )
  })

  test('users', async t => {
    const check = await start(t)
    const nobody = (who: string): string => `runAsNonRoot != true (${who})`
    await check('restricted', strict({ runAsNonRoot: undefined }, { runAsNonRoot: true }), 'ok')
    await check(
      'restricted',
      strict({ runAsNonRoot: false }, { runAsNonRoot: true }),
      nobody('pod must not set securityContext.runAsNonRoot=false'),
    )
    await check(
      'restricted',
      strict({}, { runAsNonRoot: false }),
      nobody('container "a" must not set securityContext.runAsNonRoot=false'),
    )
    await check(
      'restricted',
      strict({ runAsNonRoot: undefined }),
      nobody('pod or container "a" must set securityContext.runAsNonRoot=true'),
    )
    await check('restricted', strict({ runAsUser: 0 }), 'runAsUser=0 (pod must not set runAsUser=0)')
    await check(
      'restricted',
      strict({}, { runAsUser: 0 }),
      'runAsUser=0 (container "a" must not set runAsUser=0)',
    )
    await check(
      'restricted',
      strict({ runAsUser: 0 }, { runAsUser: 0 }),
      'runAsUser=0 (pod and container "a" must not set runAsUser=0)',
    )
    await check('restricted', strict({ runAsUser: 1_000 }, { runAsUser: 1 }), 'ok')
    await check('restricted:v1.22', strict({ runAsUser: 0 }), 'ok')
    await check('restricted:v1.23', strict({ runAsUser: 0 }), 'runAsUser=0 (pod must not set runAsUser=0)')
  })

  test('root in a user namespace is allowed since 1.35', async t => {
    const check = await start(t)
    const root = strict({ runAsNonRoot: undefined, runAsUser: 0 }, {}, { hostUsers: false })
    await check('restricted:v1.35', root, 'ok')
    await check('restricted', root, 'ok')
    await check(
      'restricted:v1.34',
      root,
      'runAsNonRoot != true (pod or container "a" must set ' +
        'securityContext.runAsNonRoot=true), ' +
        'runAsUser=0 (pod must not set runAsUser=0)',
    )
  })

  test('seccomp profiles', async t => {
    const check = await start(t)
    const unconfined = { seccompProfile: { type: 'Unconfined' } }
    const must =
      'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to ' +
      '"RuntimeDefault" or "Localhost")'
    const wrong = (who: string): string =>
      `seccompProfile (${who} must not set securityContext.seccompProfile.type to "Unconfined")`
    await check('restricted', strict({ seccompProfile: undefined }), must)
    await check('restricted:v1.18', strict({ seccompProfile: undefined }), 'ok')
    await check(
      'restricted',
      strict({ seccompProfile: undefined }, { seccompProfile: { type: 'RuntimeDefault' } }),
      'ok',
    )
    await check(
      'restricted',
      strict(unconfined, { seccompProfile: { type: 'RuntimeDefault' } }),
      wrong('pod'),
    )
    await check('restricted', strict({}, unconfined), wrong('container "a"'))
  })

  test('Linux-only fields are not required of Windows pods since 1.25', async t => {
    const check = await start(t)
    const windows = { os: { name: 'windows' }, securityContext: { runAsNonRoot: true } }
    await check('restricted', windows, 'ok')
    await check('restricted:v1.25', windows, 'ok')
    await check(
      'restricted:v1.24',
      windows,
      'allowPrivilegeEscalation != false (container "a" must set ' +
        'securityContext.' +
        'allowPrivilegeEscalation=false), unrestricted capabilities (container "a" must set ' +
        'securityContext.capabilities.drop=["ALL"]), ' +
        'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to ' +
        '"RuntimeDefault" or "Localhost")',
    )
    await check(
      'restricted',
      { os: { name: 'windows' } },
      'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)',
    )
  })
})
