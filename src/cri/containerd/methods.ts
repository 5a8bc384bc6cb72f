import type { Message } from '#/base/protobuf.ts'
import { Empty } from './common-messages.ts'
import {
  ContainerId,
  ContainerStatusResponse,
  CreateContainerRequest,
  ListContainersRequest,
  ListContainersResponse,
  StopContainerRequest,
  UpdateContainerResourcesRequest,
} from './container-messages.ts'
import {
  ImageFsInfoResponse,
  ImageRequest,
  ImageStatusResponse,
  ListImagesResponse,
  PullImageRequest,
  PullImageResponse,
} from './image-messages.ts'
import {
  AttachRequest,
  ExecRequest,
  ExecSyncRequest,
  ExecSyncResponse,
  ListContainerStatsRequest,
  ListContainerStatsResponse,
  PortForwardRequest,
  SessionUrl,
  StatusResponse,
  VersionRequest,
  VersionResponse,
} from './runtime-messages.ts'
import {
  ListPodSandboxRequest,
  ListPodSandboxResponse,
  PodSandboxId,
  PodSandboxStatusResponse,
  RunPodSandboxRequest,
} from './sandbox-messages.ts'

/** A CRI v1 method: its name and its request and response messages. */
export interface Method<In, Out> {
  readonly name: string
  readonly request: Message<unknown, In>
  readonly response: Message<Out, never>
}

export const methods = {
  version: runtime('Version', VersionRequest, VersionResponse),
  status: runtime('Status', Empty, StatusResponse),
  runPodSandbox: runtime('RunPodSandbox', RunPodSandboxRequest, PodSandboxId),
  stopPodSandbox: runtime('StopPodSandbox', PodSandboxId, Empty),
  removePodSandbox: runtime('RemovePodSandbox', PodSandboxId, Empty),
  podSandboxStatus: runtime('PodSandboxStatus', PodSandboxId, PodSandboxStatusResponse),
  listPodSandbox: runtime('ListPodSandbox', ListPodSandboxRequest, ListPodSandboxResponse),
  createContainer: runtime('CreateContainer', CreateContainerRequest, ContainerId),
  startContainer: runtime('StartContainer', ContainerId, Empty),
  stopContainer: runtime('StopContainer', StopContainerRequest, Empty),
  removeContainer: runtime('RemoveContainer', ContainerId, Empty),
  containerStatus: runtime('ContainerStatus', ContainerId, ContainerStatusResponse),
  listContainers: runtime('ListContainers', ListContainersRequest, ListContainersResponse),
  updateContainerResources: runtime('UpdateContainerResources', UpdateContainerResourcesRequest, Empty),
  reopenContainerLog: runtime('ReopenContainerLog', ContainerId, Empty),
  execSync: runtime('ExecSync', ExecSyncRequest, ExecSyncResponse),
  exec: runtime('Exec', ExecRequest, SessionUrl),
  attach: runtime('Attach', AttachRequest, SessionUrl),
  portForward: runtime('PortForward', PortForwardRequest, SessionUrl),
  listContainerStats: runtime('ListContainerStats', ListContainerStatsRequest, ListContainerStatsResponse),
  listImages: images('ListImages', Empty, ListImagesResponse),
  imageStatus: images('ImageStatus', ImageRequest, ImageStatusResponse),
  pullImage: images('PullImage', PullImageRequest, PullImageResponse),
  removeImage: images('RemoveImage', ImageRequest, Empty),
  imageFsInfo: images('ImageFsInfo', Empty, ImageFsInfoResponse),
}

function runtime<In, Out>(
  name: string,
  request: Message<unknown, In>,
  response: Message<Out, never>,
): Method<In, Out> {
  return { name: `/runtime.v1.RuntimeService/${name}`, request, response }
}

function images<In, Out>(
  name: string,
  request: Message<unknown, In>,
  response: Message<Out, never>,
): Method<In, Out> {
  return { name: `/runtime.v1.ImageService/${name}`, request, response }
}
