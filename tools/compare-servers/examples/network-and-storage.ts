import { labels, type Examples } from './example.ts'

const service = { name: 'web', port: { number: 80 } }

export const networkAndStorageExamples: Examples = {
  'discovery.k8s.io/EndpointSlice': {
    minimal: { addressType: 'IPv4', endpoints: [] },
    rich: {
      addressType: 'IPv4',
      endpoints: [
        {
          addresses: ['10.1.2.3'],
          conditions: { ready: true, serving: true, terminating: false },
          hostname: 'one',
          nodeName: 'n1',
          zone: 'a',
          hints: { forZones: [{ name: 'a' }] },
          targetRef: { kind: 'Pod', name: 'main' },
        },
      ],
      ports: [{ name: 'http', port: 80, protocol: 'TCP', appProtocol: 'http' }],
    },
  },
  'networking.k8s.io/Ingress': {
    minimal: { spec: { defaultBackend: { service } } },
    rich: {
      spec: {
        ingressClassName: 'nowhere',
        defaultBackend: { service },
        tls: [{ hosts: ['a.example.com'], secretName: 'certificate' }],
        rules: [
          {
            host: 'a.example.com',
            http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service } }] },
          },
        ],
      },
    },
  },
  'networking.k8s.io/IngressClass': {
    minimal: { spec: { controller: 'example.com/ingress' } },
    rich: {
      spec: {
        controller: 'example.com/ingress',
        parameters: {
          apiGroup: 'example.com',
          kind: 'Parameters',
          name: 'one',
          scope: 'Namespace',
          namespace: 'default',
        },
      },
    },
  },
  'networking.k8s.io/IPAddress': {
    minimal: { spec: { parentRef: { resource: 'services', name: 'nowhere' } } },
    rich: { spec: { parentRef: { group: '', resource: 'services', namespace: 'nowhere', name: 'none' } } },
    nameOf: name => `10.96.200.${name.length}`,
  },
  'networking.k8s.io/NetworkPolicy': {
    minimal: { spec: { podSelector: {} } },
    rich: {
      spec: {
        podSelector: { matchLabels: labels },
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{ from: [{ podSelector: {} }], ports: [{ protocol: 'TCP', port: 'http' }] }],
        egress: [
          {
            to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }],
            ports: [{ port: 80, endPort: 90 }],
          },
        ],
      },
    },
  },
  'networking.k8s.io/ServiceCIDR': {
    minimal: { spec: { cidrs: ['10.200.0.0/16'] } },
    rich: { spec: { cidrs: ['10.201.0.0/16', 'fd00:77::/112'] } },
  },
  'storage.k8s.io/CSIDriver': {
    minimal: { spec: {} },
    rich: {
      spec: {
        attachRequired: false,
        podInfoOnMount: true,
        volumeLifecycleModes: ['Persistent'],
        storageCapacity: true,
        fsGroupPolicy: 'File',
        tokenRequests: [{ audience: 'a', expirationSeconds: 3600 }],
        requiresRepublish: true,
        seLinuxMount: true,
        nodeAllocatableUpdatePeriodSeconds: 60,
      },
    },
  },
  'storage.k8s.io/CSINode': {
    minimal: { spec: { drivers: [] } },
    rich: {
      spec: {
        drivers: [
          { name: 'csi.example.com', nodeID: 'n1', topologyKeys: ['zone'], allocatable: { count: 5 } },
        ],
      },
    },
  },
  'storage.k8s.io/CSIStorageCapacity': {
    minimal: { storageClassName: 'nowhere' },
    rich: {
      storageClassName: 'nowhere',
      capacity: '10Gi',
      maximumVolumeSize: '1Gi',
      nodeTopology: { matchLabels: { zone: 'a' } },
    },
  },
  'storage.k8s.io/StorageClass': {
    minimal: { provisioner: 'csi.example.com' },
    rich: {
      provisioner: 'csi.example.com',
      parameters: { type: 'fast' },
      reclaimPolicy: 'Retain',
      mountOptions: ['ro'],
      allowVolumeExpansion: true,
      volumeBindingMode: 'WaitForFirstConsumer',
      allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }],
    },
  },
  'storage.k8s.io/VolumeAttachment': {
    minimal: {
      spec: { attacher: 'csi.example.com', nodeName: 'n1', source: { persistentVolumeName: 'none' } },
    },
    rich: {
      spec: {
        attacher: 'csi.example.com',
        nodeName: 'n1',
        source: {
          inlineVolumeSpec: {
            accessModes: ['ReadWriteOnce'],
            csi: { driver: 'csi.example.com', volumeHandle: 'one' },
          },
        },
      },
    },
  },
  'storage.k8s.io/VolumeAttributesClass': {
    minimal: { driverName: 'csi.example.com', parameters: { iops: '1' } },
    rich: { driverName: 'csi.example.com', parameters: { iops: '100', throughput: '10' } },
  },
}
