/** A valid pod that has most fields set. */
import type { Pod } from '../../generated/core/v1.ts'

const probe = {
  httpGet: { port: 'http', path: '/', httpHeaders: [{ name: 'X-A', value: 'b' }] },
  periodSeconds: 5,
}

const term = {
  labelSelector: { matchLabels: { app: 'web' }, matchExpressions: [{ key: 'a', operator: 'Exists' }] },
  namespaces: ['default'],
  topologyKey: 'zone',
  matchLabelKeys: ['tier'],
  mismatchLabelKeys: ['other'],
}

export const fullPod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web',
    namespace: 'default',
    labels: { app: 'web', tier: 'front' },
    annotations: { 'controller.kubernetes.io/pod-deletion-cost': '5' },
  },
  spec: {
    activeDeadlineSeconds: 100,
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            {
              matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }],
              matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['n1'] }],
            },
          ],
        },
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 5, preference: { matchExpressions: [{ key: 'cores', operator: 'Gt', values: ['4'] }] } },
        ],
      },
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }],
      },
    },
    containers: [
      {
        name: 'a',
        image: 'nginx:1',
        command: ['sh'],
        env: [
          { name: 'A', value: '1' },
          { name: 'B', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'C', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
          { name: 'D', valueFrom: { configMapKeyRef: { name: 'm', key: 'k' } } },
          { name: 'E', valueFrom: { fileKeyRef: { volumeName: 'scratch', path: 'env', key: 'K' } } },
        ],
        envFrom: [{ configMapRef: { name: 'm' } }, { secretRef: { name: 's' }, prefix: 'S_' }],
        lifecycle: { postStart: { exec: { command: ['true'] } }, preStop: { sleep: { seconds: 5 } } },
        livenessProbe: probe,
        readinessProbe: { tcpSocket: { port: 80 } },
        startupProbe: { grpc: { port: 80 } },
        ports: [{ name: 'http', containerPort: 80, hostPort: 8080, hostIP: '10.0.0.1' }],
        resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }],
        resources: {
          limits: { 'cpu': '1', 'memory': '1Gi', 'hugepages-2Mi': '4Mi', 'example.com/gpu': '1' },
          claims: [{ name: 'gpu' }],
        },
        securityContext: {
          capabilities: { add: ['NET_ADMIN'] },
          privileged: true,
          runAsUser: 5,
          seccompProfile: { type: 'Unconfined' },
          appArmorProfile: { type: 'RuntimeDefault' },
        },
        volumeDevices: [{ name: 'block', devicePath: '/dev/x' }],
        volumeMounts: [
          { name: 'scratch', mountPath: '/scratch', mountPropagation: 'Bidirectional' },
          { name: 'files', mountPath: '/files', readOnly: true, recursiveReadOnly: 'Enabled', subPath: 'a' },
        ],
      },
    ],
    dnsConfig: {
      nameservers: ['1.1.1.1'],
      searches: ['example.com'],
      options: [{ name: 'ndots', value: '2' }],
    },
    hostAliases: [{ ip: '10.0.0.1', hostnames: ['db'] }],
    hostname: 'web',
    imagePullSecrets: [{ name: 'registry' }],
    initContainers: [
      { name: 'i', image: 'busybox' },
      {
        name: 'side',
        image: 'envoy:1',
        restartPolicy: 'Always',
        readinessProbe: { exec: { command: ['true'] } },
      },
    ],
    nodeSelector: { zone: 'a' },
    os: { name: 'linux' },
    overhead: { cpu: '10m' },
    preemptionPolicy: 'Never',
    priorityClassName: 'high',
    readinessGates: [{ conditionType: 'example.com/ready' }],
    resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'gpu' }],
    resources: { limits: { cpu: '2', memory: '2Gi' } },
    restartPolicy: 'OnFailure',
    runtimeClassName: 'kata',
    schedulingGates: [{ name: 'example.com/gate' }],
    securityContext: {
      fsGroup: 5,
      supplementalGroups: [1],
      sysctls: [{ name: 'net.core.somaxconn', value: '1' }],
    },
    serviceAccountName: 'web',
    tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }],
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'zone',
        whenUnsatisfiable: 'DoNotSchedule',
        minDomains: 2,
        labelSelector: {},
        matchLabelKeys: ['tier'],
      },
    ],
    volumes: [
      { name: 'scratch', emptyDir: { sizeLimit: '1Gi' } },
      {
        name: 'block',
        ephemeral: {
          volumeClaimTemplate: {
            spec: {
              accessModes: ['ReadWriteOnce'],
              resources: { requests: { storage: '1Gi' } },
              volumeMode: 'Block',
            },
          },
        },
      },
      {
        name: 'files',
        projected: {
          sources: [
            { secret: { name: 's', items: [{ key: 'a', path: 'a' }] } },
            { configMap: { name: 'm' } },
            { downwardAPI: { items: [{ path: 'l', fieldRef: { fieldPath: 'metadata.labels' } }] } },
            { serviceAccountToken: { path: 'token', audience: 'x' } },
          ],
        },
      },
      { name: 'host', hostPath: { path: '/etc' } },
      { name: 'disk', csi: { driver: 'csi.example.com', nodePublishSecretRef: { name: 's' } } },
      { name: 'net', nfs: { server: 'a', path: '/b' } },
      { name: 'claim', persistentVolumeClaim: { claimName: 'c' } },
    ],
  },
  status: {
    phase: 'Running',
    qosClass: 'Burstable',
    podIP: '10.0.0.1',
    podIPs: [{ ip: '10.0.0.1' }],
    conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses: [
      {
        name: 'a',
        image: 'nginx',
        imageID: 'x',
        ready: true,
        restartCount: 1,
        state: { terminated: { exitCode: 1 } },
        user: { linux: { uid: 1, gid: 2, supplementalGroups: [3] } },
        allocatedResourcesStatus: [
          { name: 'claim:gpu', resources: [{ resourceID: 'x', health: 'Healthy' }] },
        ],
      },
    ],
  },
}
