import { labels, minimalPodSpec, type Examples } from './example.ts'

const probe = {
  initialDelaySeconds: 1,
  timeoutSeconds: 2,
  periodSeconds: 3,
  successThreshold: 1,
  failureThreshold: 4,
}

const container = {
  name: 'main',
  image: 'example.com/main:1',
  command: ['/bin/main'],
  args: ['--verbose'],
  workingDir: '/work',
  ports: [{ name: 'http', containerPort: 80, protocol: 'TCP' }],
  envFrom: [{ prefix: 'P_', configMapRef: { name: 'settings', optional: true } }],
  env: [
    { name: 'NODE', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'spec.nodeName' } } },
    { name: 'LEVEL', value: 'info' },
    { name: 'CPU', valueFrom: { resourceFieldRef: { containerName: 'main', resource: 'limits.cpu' } } },
    { name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'main', optional: true } } },
  ],
  resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '1', memory: '1Gi' } },
  resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }],
  volumeMounts: [{ name: 'empty', mountPath: '/empty', subPath: 'a', readOnly: true }],
  livenessProbe: {
    ...probe,
    httpGet: { path: '/live', port: 'http', scheme: 'HTTP', httpHeaders: [{ name: 'X-A', value: 'b' }] },
  },
  readinessProbe: { ...probe, exec: { command: ['true'] } },
  startupProbe: { ...probe, tcpSocket: { port: 80 } },
  lifecycle: { postStart: { exec: { command: ['true'] } }, preStop: { sleep: { seconds: 1 } } },
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  imagePullPolicy: 'IfNotPresent',
  securityContext: {
    runAsUser: 1000,
    runAsNonRoot: true,
    allowPrivilegeEscalation: false,
    capabilities: { add: ['NET_BIND_SERVICE'], drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  },
}

const expression = { key: 'zone', operator: 'In', values: ['a'] }
const podTerm = { labelSelector: { matchLabels: labels }, topologyKey: 'zone', namespaces: ['default'] }

const affinity = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [expression] }],
    },
    preferredDuringSchedulingIgnoredDuringExecution: [
      { weight: 5, preference: { matchExpressions: [expression] } },
    ],
  },
  podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [podTerm] },
  podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 5, podAffinityTerm: podTerm }] },
}

const volumes = [
  { name: 'empty', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
  {
    name: 'map',
    configMap: {
      name: 'settings',
      items: [{ key: 'a', path: 'b', mode: 256 }],
      defaultMode: 420,
      optional: true,
    },
  },
  { name: 'secret', secret: { secretName: 'keys', defaultMode: 256, optional: true } },
  { name: 'host', hostPath: { path: '/tmp', type: 'Directory' } },
  { name: 'claim', persistentVolumeClaim: { claimName: 'data', readOnly: true } },
  { name: 'about', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
  {
    name: 'all',
    projected: {
      defaultMode: 420,
      sources: [
        { serviceAccountToken: { path: 'token', expirationSeconds: 3600, audience: 'a' } },
        { configMap: { name: 'settings', optional: true } },
      ],
    },
  },
  { name: 'driver', csi: { driver: 'csi.example.com', volumeAttributes: { a: 'b' } } },
  {
    name: 'own',
    ephemeral: {
      volumeClaimTemplate: {
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    },
  },
  { name: 'nfs', nfs: { server: 'nfs.example.com', path: '/x' } },
]

export const podExamples: Examples = {
  '/Pod': {
    minimal: { spec: minimalPodSpec },
    rich: {
      metadata: { labels, annotations: { note: 'a pod' } },
      spec: {
        volumes,
        initContainers: [{ name: 'first', image: 'example.com/first:1', restartPolicy: 'Always' }],
        containers: [container, { name: 'second', image: 'example.com/second:1' }],
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 5,
        activeDeadlineSeconds: 600,
        dnsPolicy: 'ClusterFirst',
        dnsConfig: {
          nameservers: ['10.1.2.3'],
          searches: ['example.com'],
          options: [{ name: 'ndots', value: '2' }],
        },
        nodeSelector: { disk: 'fast' },
        serviceAccountName: 'default',
        automountServiceAccountToken: false,
        hostNetwork: false,
        shareProcessNamespace: true,
        securityContext: {
          runAsGroup: 1000,
          fsGroup: 2000,
          fsGroupChangePolicy: 'OnRootMismatch',
          supplementalGroups: [3000],
          sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }],
          seLinuxOptions: { level: 's0:c1,c2' },
        },
        imagePullSecrets: [{ name: 'registry' }],
        hostname: 'compare',
        subdomain: 'pods',
        affinity,
        schedulerName: 'nowhere',
        tolerations: [
          { key: 'dedicated', operator: 'Equal', value: 'x', effect: 'NoExecute', tolerationSeconds: 60 },
        ],
        hostAliases: [{ ip: '10.1.2.4', hostnames: ['other.example.com'] }],
        priorityClassName: 'system-node-critical',
        readinessGates: [{ conditionType: 'example.com/ready' }],
        enableServiceLinks: true,
        preemptionPolicy: 'PreemptLowerPriority',
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'zone',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: labels },
            nodeAffinityPolicy: 'Honor',
          },
        ],
        setHostnameAsFQDN: false,
        os: { name: 'linux' },
        hostUsers: true,
        schedulingGates: [{ name: 'example.com/gate' }],
      },
    },
  },
  '/PodTemplate': {
    minimal: { template: { spec: minimalPodSpec } },
    rich: {
      template: {
        metadata: { labels, annotations: { a: 'b' } },
        spec: { ...minimalPodSpec, hostNetwork: true },
      },
    },
  },
}
