import { test } from 'node:test'
import { podRules } from './pod-rules.ts'
import { container, pod, podWith, rulesUnderTest } from '../testdata/pods.ts'

const { check } = rulesUnderTest(podRules)

/** Checks the errors of a pod with this volume; paths are relative to the volume. */
function checkVolume(source: object, ...errors: readonly string[]): void {
  check(pod({ volumes: [{ name: 'v', ...source }] }), ...errors.map(error => `spec.volumes[0]${error}`))
}

test('a volume requires a unique name and exactly one source', () => {
  checkVolume({})
  checkVolume(
    { emptyDir: {}, hostPath: { path: '/' } },
    '.hostPath: Forbidden: may not specify more than 1 volume type',
  )
  check(pod({ volumes: [{ emptyDir: {} }] }), 'spec.volumes[0].name: Required value')
  check(
    pod({ volumes: [{ name: 'V' }] }),
    'spec.volumes[0].name: Invalid value: "V": a lowercase RFC 1123 label',
  )
  check(pod({ volumes: [{ name: 'v' }, { name: 'v' }] }), 'spec.volumes[1].name: Duplicate value: "v"')
})

test('validation of each volume source', () => {
  checkVolume(
    { emptyDir: { sizeLimit: '-1' } },
    '.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid',
  )
  checkVolume({ hostPath: {} }, '.hostPath.path: Required value')
  checkVolume(
    { hostPath: { path: '/a/../b' } },
    '.hostPath.path: Invalid value: "/a/../b": must not contain \'..\'',
  )
  checkVolume(
    { hostPath: { path: '/a', type: 'Pipe' } },
    '.hostPath.type: Unsupported value: "Pipe": supported values: ""',
  )
  checkVolume({ secret: {} }, '.secret.secretName: Required value')
  checkVolume({ configMap: {} }, '.configMap.name: Required value')
  checkVolume(
    { nfs: { path: 'a' } },
    '.nfs.server: Required value',
    '.nfs.path: Invalid value: "a": must be an absolute path',
  )
  checkVolume({ persistentVolumeClaim: {} }, '.persistentVolumeClaim.claimName: Required value')
  checkVolume(
    { gcePersistentDisk: { partition: 256 } },
    '.persistentDisk.pdName: Required value',
    '.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive',
  )
  checkVolume({ awsElasticBlockStore: {} }, '.awsElasticBlockStore.volumeID: Required value')
  checkVolume({ glusterfs: {} }, '.glusterfs.endpoints: Required value', '.glusterfs.path: Required value')
  checkVolume({ rbd: {} }, '.rbd.monitors: Required value', '.rbd.image: Required value')
  checkVolume({ cephfs: {} }, '.cephfs.monitors: Required value')
  checkVolume(
    { cinder: { secretRef: {} } },
    '.cinder.volumeID: Required value',
    '.cinder.secretRef.name: Required value',
  )
  checkVolume(
    { gitRepo: { directory: '/x' } },
    '.gitRepo.repository: Required value',
    '.gitRepo.directory: Invalid value: "/x": must be a relative path',
  )
  checkVolume({ flocker: {} }, '.flocker: Required value: one of datasetName and datasetUUID is required')
  checkVolume(
    { quobyte: { registry: 'a' } },
    '.quobyte.registry: Invalid value: "a": must be a host:port pair',
    '.quobyte.volume: Required value',
  )
  checkVolume({ quobyte: { registry: 'a:1,[::1]:2', volume: 'v' } })
  checkVolume(
    { azureFile: {} },
    '.azureFile.secretName: Required value',
    '.azureFile.shareName: Required value',
  )
  checkVolume(
    { azureDisk: { diskName: 'd', diskURI: 'x', kind: 'Managed' } },
    '.azureDisk.diskURI: Unsupported value: "x": supported values: "/subscriptions/',
  )
  checkVolume({ vsphereVolume: {} }, '.vsphereVolume.volumePath: Required value')
  checkVolume({ photonPersistentDisk: {} }, '.photonPersistentDisk.pdID: Required value')
  checkVolume({ portworxVolume: {} }, '.portworxVolume.volumeID: Required value')
  checkVolume(
    { scaleIO: {} },
    '.scaleIO.gateway: Required value',
    '.scaleIO.system: Required value',
    '.scaleIO.volumeName: Required value',
  )
  checkVolume({ storageos: {} }, '.storageos.volumeName: Required value')
  checkVolume(
    { flexVolume: { options: { 'x.k8s.io/a': '', 'a/x.k8s.io': '' } } },
    '.flexVolume.driver: Required value',
    '.flexVolume.options[x.k8s.io/a]: Invalid value: "x.k8s.io/a": kubernetes.io and k8s.io namespaces are reserved',
  )
  checkVolume(
    { fc: {} },
    '.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both',
  )
  checkVolume(
    { fc: { targetWWNs: ['a'] } },
    '.fc.lun: Required value: lun is required if targetWWNs is specified',
  )
  checkVolume({ csi: {} }, '.csi.driver: Required value')
  checkVolume({ csi: { driver: 'a_b' } }, '.csi.driver: Invalid value: "a_b": a lowercase RFC 1123 subdomain')
  checkVolume({ csi: { driver: 'a'.repeat(64) } }, '.csi.driver: Too long: may not be more than 63 bytes')
  checkVolume({ image: {} }, '.image.reference: Required value')
  checkVolume({ image: { reference: 'a', pullPolicy: 'x' } }, '.image.pullPolicy: Unsupported value: "x"')
})

test('validation of iSCSI qualified names', () => {
  const iscsi = (fields: object): object => ({ iscsi: { targetPortal: '10.0.0.1:3260', lun: 0, ...fields } })
  checkVolume(iscsi({ iqn: 'iqn.2001-04.com.example:storage.kube' }))
  checkVolume(iscsi({ iqn: 'eui.0123456789ABCDEF' }))
  checkVolume(iscsi({}), '.iscsi.iqn: Required value')
  checkVolume(
    iscsi({ iqn: 'foo' }),
    '.iscsi.iqn: Invalid value: "foo": must be valid format starting with iqn, eui, or naa',
  )
  checkVolume(
    iscsi({ iqn: 'iqn.x', lun: 256, chapAuthSession: true }),
    '.iscsi.iqn: Invalid value: "iqn.x": must be valid format',
    '.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive',
    '.iscsi.secretRef: Required value',
  )
})

test('validation of file paths and modes in volumes', () => {
  const items = (...list: readonly object[]): object => ({ configMap: { name: 'm', items: list } })
  checkVolume(items({ key: 'a', path: 'b/c', mode: 0o400 }))
  checkVolume(
    items({}),
    '.configMap.items[0].key: Required value',
    '.configMap.items[0].path: Required value',
  )
  checkVolume(
    items({ key: 'a', path: '/b' }),
    '.configMap.items[0].path: Invalid value: "/b": must be a relative path',
  )
  checkVolume(
    items({ key: 'a', path: '../b' }),
    '.configMap.items[0].path: Invalid value: "../b": must not contain \'..\'',
  )
  checkVolume(
    items({ key: 'a', path: '..b' }),
    '.configMap.items[0].path: Invalid value: "..b": must not start with \'..\'',
  )
  checkVolume(
    items({ key: 'a', path: 'b', mode: 512 }),
    '.configMap.items[0].mode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive',
  )
  checkVolume(
    { secret: { secretName: 's', defaultMode: -1 } },
    '.secret.defaultMode: Invalid value: -1: must be a number',
  )
})

test('a downward API file requires exactly one of fieldRef and resourceFieldRef', () => {
  const file = (fields: object): object => ({ downwardAPI: { items: [{ path: 'f', ...fields }] } })
  checkVolume(file({ fieldRef: { fieldPath: 'metadata.labels' } }))
  checkVolume(file({ resourceFieldRef: { containerName: 'a', resource: 'limits.cpu' } }))
  checkVolume(file({}), '.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required')
  checkVolume(
    file({ fieldRef: { fieldPath: 'spec.nodeName' } }),
    '.downwardAPI.fieldRef.fieldPath: Unsupported value: "spec.nodeName": supported values: "metadata.ann',
  )
  checkVolume(
    file({ resourceFieldRef: { resource: 'limits.cpu' } }),
    '.downwardAPI.resourceFieldRef.containerName: Required value',
  )
})

test('projected sources must not have conflicting paths', () => {
  const projected = (...sources: readonly object[]): object => ({ projected: { sources } })
  const items = [{ key: 'a', path: 'p' }]
  const others = [{ key: 'a', path: 'q' }]
  checkVolume(projected({ secret: { name: 's', items } }, { configMap: { name: 'm', items: others } }))
  checkVolume(
    projected({ secret: { name: 's', items } }, { configMap: { name: 'm', items } }),
    '.projected: Invalid value: "m": conflicting duplicate paths',
  )
  checkVolume(
    projected({ secret: { name: 's' }, configMap: { name: 'm' } }),
    '.projected.sources[0]: Forbidden: may not specify more than 1 volume type per source',
  )
  checkVolume(projected({ secret: {} }), '.projected.sources[0].secret.name: Required value')
  const token = (fields: object): object =>
    pod({
      serviceAccountName: 'x',
      volumes: [{ name: 'v', ...projected({ serviceAccountToken: fields }) }],
    })
  check(token({ path: 't' }))
  check(
    token({ expirationSeconds: 599 }),
    'spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: may not specify a',
    'spec.volumes[0].projected.path: Required value',
  )
  checkVolume(
    projected({ serviceAccountToken: { path: 't' } }),
    '.projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set',
  )
})

test('validation of ephemeral volume claim templates', () => {
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  const claim = (fields: object, metadata: object = {}): object => {
    return { ephemeral: { volumeClaimTemplate: { metadata, spec: { ...spec, ...fields } } } }
  }
  const place = '.ephemeral.volumeClaimTemplate'
  checkVolume(claim({}))
  checkVolume({ ephemeral: {} }, '.ephemeral.volumeClaimTemplate: Required value')
  checkVolume(
    claim({ accessModes: [] }),
    `${place}.spec.accessModes: Required value: at least 1 access mode is required`,
  )
  checkVolume(claim({ accessModes: ['Any'] }), `${place}.spec.accessModes: Unsupported value: "Any"`)
  checkVolume(
    claim({ accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'] }),
    `${place}.spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes`,
  )
  checkVolume(claim({ resources: {} }), `${place}.spec.resources[storage]: Required value`)
  checkVolume(
    claim({ resources: { requests: { storage: '0' } } }),
    `${place}.spec.resources[storage]: Invalid value: "0": must be greater than zero`,
  )
  checkVolume(claim({ storageClassName: 'A' }), `${place}.spec.storageClassName: Invalid value: "A"`)
  checkVolume(
    claim({ volumeMode: 'Tape' }),
    `${place}.spec.volumeMode: Unsupported value: "Tape": supported values: "Block"`,
  )
  checkVolume(
    claim({ dataSource: { kind: 'Snapshot', name: 'x' } }),
    `${place}.spec.dataSource: Invalid value: "Snapshot": must be 'PersistentVolumeClaim' when referencing the default`,
  )
  checkVolume(claim({}, { name: 'x' }), `${place}.metadata.name: Forbidden: cannot be set`)
  check(
    pod({
      volumes: [
        { name: 'v', ...claim({}) },
        { name: 'w', persistentVolumeClaim: { claimName: 'web-v' } },
      ],
    }),
    'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "web-v": must not reference a PVC that gets c',
  )
})

/** Checks the errors of a container with these mounts; the pod has an emptyDir `v` and a claim `c`. */
function checkMounts(fields: object, ...errors: readonly string[]): void {
  const volumes = [
    { name: 'v', emptyDir: {} },
    { name: 'c', persistentVolumeClaim: { claimName: 'x' } },
  ]
  check(podWith(fields, { volumes }), ...errors.map(error => `spec.containers[0].${error}`))
}

test('volume mounts require known volumes and unique paths', () => {
  const mounts = (...list: readonly object[]): object => ({ volumeMounts: list })
  checkMounts(
    mounts({ name: 'v', mountPath: '/a', subPath: 'b' }, { name: 'v', mountPath: '/b', subPathExpr: '$(X)' }),
  )
  checkMounts(mounts({ name: 'x', mountPath: '/a' }), 'volumeMounts[0].name: Not found: "x"')
  checkMounts(mounts({ name: 'v' }), 'volumeMounts[0].mountPath: Required value')
  checkMounts(
    mounts({ name: 'v', mountPath: '/a' }, { name: 'v', mountPath: '/a' }),
    'volumeMounts[1].mountPath: Invalid value: "/a": must be unique',
  )
  checkMounts(
    mounts({ name: 'v', mountPath: '/a', subPath: '../b' }),
    'volumeMounts.subPath: Invalid value: "../b": must not contain \'..\'',
  )
  checkMounts(
    mounts({ name: 'v', mountPath: '/a', subPath: 'b', subPathExpr: 'c' }),
    'volumeMounts[0].subPathExpr: Invalid value: "c": subPathExpr and subPath are mutually exclusive',
  )
  checkMounts(
    mounts({ name: 'v', mountPath: '/a', mountPropagation: 'Both' }),
    'volumeMounts.mountPropagation: Unsupported value: "Both": supported values: "Bidirectional", "HostToContainer',
  )
  checkMounts(
    mounts({ name: 'v', mountPath: '/a', mountPropagation: 'Bidirectional' }),
    'volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged con',
  )
  checkMounts(
    mounts({ name: 'v', mountPath: '/a', recursiveReadOnly: 'Enabled' }),
    'volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true',
  )
})

test('volume devices require claims and unique paths', () => {
  const devices = (...list: readonly object[]): object => ({ volumeDevices: list })
  checkMounts(devices({ name: 'c', devicePath: '/dev/x' }))
  checkMounts(
    devices({ name: 'v', devicePath: '/dev/x' }),
    'volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral',
  )
  checkMounts(
    devices({ name: 'c', devicePath: '/dev/../x' }),
    'volumeDevices[0].devicePath: Invalid value: "/dev/../x": can not contain backsteps (\'..\')',
  )
  checkMounts(
    { volumeMounts: [{ name: 'c', mountPath: '/x' }], volumeDevices: [{ name: 'c', devicePath: '/x' }] },
    'volumeMounts[0].name: Invalid value: "c": must not already exist in volumeDevices',
    'volumeMounts[0].mountPath: Invalid value: "/x": must not already exist as a path in volumeDevices',
    'volumeDevices[0].name: Invalid value: "c": must not already exist in volumeMounts',
    'volumeDevices[0].devicePath: Invalid value: "/x": must not already exist as a path in volumeMounts',
  )
  check(
    pod({
      hostUsers: false,
      volumes: [{ name: 'c', persistentVolumeClaim: { claimName: 'x' } }],
      containers: [container({ volumeDevices: [{ name: 'c', devicePath: '/x' }] })],
    }),
    'spec.containers[0].volumeDevices: Forbidden: when `hostUsers` is false',
  )
})
