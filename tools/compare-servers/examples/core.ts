import { labels, minimalTemplate, type Examples } from './example.ts'

const regarding = { apiVersion: 'v1', kind: 'Pod', namespace: 'compare-servers', name: 'main' }

export const coreExamples: Examples = {
  '/ConfigMap': {
    minimal: {},
    rich: { immutable: false, data: { colour: 'blue' }, binaryData: { bytes: 'AAEC' } },
  },
  '/Secret': {
    minimal: {},
    rich: { type: 'Opaque', immutable: false, data: { word: 'aHVzaA==' }, stringData: { other: 'text' } },
  },
  '/Endpoints': {
    minimal: {},
    rich: {
      subsets: [
        {
          addresses: [
            { ip: '10.1.2.3', hostname: 'one', nodeName: 'n1', targetRef: { kind: 'Pod', name: 'main' } },
          ],
          notReadyAddresses: [{ ip: '10.1.2.4' }],
          ports: [{ name: 'http', port: 80, protocol: 'TCP', appProtocol: 'http' }],
        },
      ],
    },
  },
  '/Event': {
    minimal: { involvedObject: regarding },
    rich: {
      involvedObject: regarding,
      reason: 'Seen',
      message: 'it was there',
      source: { component: 'compare', host: 'n1' },
      firstTimestamp: '2001-01-01T00:00:00Z',
      lastTimestamp: '2001-01-02T00:00:00Z',
      count: 2,
      type: 'Normal',
    },
  },
  '/LimitRange': {
    minimal: { spec: { limits: [] } },
    rich: {
      spec: { limits: [{ type: 'PersistentVolumeClaim', min: { storage: '1Ki' }, max: { storage: '1Ti' } }] },
    },
  },
  '/ResourceQuota': {
    minimal: {},
    rich: {
      spec: {
        hard: { 'services.loadbalancers': '5', 'requests.storage': '10Ti' },
        scopeSelector: undefined,
      },
    },
  },
  '/Namespace': {
    minimal: {},
    rich: { metadata: { labels }, spec: { finalizers: ['kubernetes'] } },
  },
  '/Node': {
    minimal: {},
    rich: {
      metadata: { labels: { zone: 'a' } },
      spec: {
        podCIDR: '10.244.77.0/24',
        podCIDRs: ['10.244.77.0/24'],
        providerID: 'example://n1',
        unschedulable: true,
        taints: [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }],
      },
    },
  },
  '/PersistentVolume': {
    minimal: {
      spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/mnt' } },
    },
    rich: {
      spec: {
        capacity: { storage: '10Gi' },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: 'nowhere',
        mountOptions: ['ro'],
        volumeMode: 'Filesystem',
        local: { path: '/mnt', fsType: 'ext4' },
        claimRef: { namespace: 'nowhere', name: 'none' },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n1'] }] },
            ],
          },
        },
      },
    },
  },
  '/PersistentVolumeClaim': {
    minimal: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
    rich: {
      spec: {
        accessModes: ['ReadWriteOnce'],
        selector: { matchLabels: labels, matchExpressions: [{ key: 'a', operator: 'Exists' }] },
        resources: { requests: { storage: '1Gi' }, limits: { storage: '2Gi' } },
        storageClassName: 'nowhere',
        volumeMode: 'Filesystem',
        dataSource: { kind: 'PersistentVolumeClaim', name: 'other' },
      },
    },
  },
  '/ReplicationController': {
    minimal: { spec: { replicas: 0, selector: labels, template: minimalTemplate } },
    rich: { spec: { replicas: 0, minReadySeconds: 5, selector: labels, template: minimalTemplate } },
  },
  '/Service': {
    minimal: { spec: { ports: [{ port: 80 }] } },
    rich: {
      spec: {
        type: 'ClusterIP',
        selector: labels,
        ports: [
          { name: 'http', port: 80, targetPort: 'http', protocol: 'TCP', appProtocol: 'http' },
          { name: 'dns', port: 53, targetPort: 5353, protocol: 'UDP' },
        ],
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 100 } },
        externalIPs: ['192.0.2.1'],
        publishNotReadyAddresses: true,
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        internalTrafficPolicy: 'Cluster',
        trafficDistribution: 'PreferClose',
      },
    },
  },
  '/ServiceAccount': {
    minimal: {},
    rich: {
      automountServiceAccountToken: false,
      imagePullSecrets: [{ name: 'registry' }],
      secrets: [{ name: 'token' }],
    },
  },
  '/Binding': {
    minimal: { target: { kind: 'Node', name: 'nowhere' } },
    rich: { target: { apiVersion: 'v1', kind: 'Node', name: 'nowhere' } },
  },
  'events.k8s.io/Event': {
    minimal: {
      eventTime: '2001-01-01T00:00:00.000001Z',
      action: 'Looking',
      reason: 'Seen',
      reportingController: 'example.com/compare',
      reportingInstance: 'one',
      type: 'Normal',
      regarding,
    },
    rich: {
      eventTime: '2001-01-01T00:00:00.000001Z',
      action: 'Looking',
      reason: 'Seen',
      note: 'it was there',
      reportingController: 'example.com/compare',
      reportingInstance: 'one',
      type: 'Warning',
      regarding,
      related: regarding,
      series: { count: 2, lastObservedTime: '2001-01-02T00:00:00.000001Z' },
    },
  },
}
