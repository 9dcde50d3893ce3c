# A Coder workspace in a Docker container, with the Waymark agent and a
# dropped-in resolver in its image. See README.md; prepare.sh makes what
# build/Dockerfile copies.
terraform {
  required_providers {
    coder = {
      source  = "coder/coder"
      version = "~> 2.0"
    }
    docker = {
      source  = "kreuzwerker/docker"
      version = "~> 3.0"
    }
  }
}

variable "waymark_target" {
  type        = string
  default     = "local"
  description = "Where the agent pushes to: local (a hub in the workspace), hub (waymark_hub_url) or coder (this Coder server)."
  validation {
    condition     = contains(["local", "hub", "coder"], var.waymark_target)
    error_message = "It must be local, hub or coder."
  }
}

variable "waymark_hub_url" {
  type        = string
  default     = ""
  description = "With waymark_target = hub: the hub's URL, for example https://hub.example.com."
}

variable "waymark_hub_token" {
  type        = string
  default     = ""
  sensitive   = true
  description = "With waymark_target = hub: an agent token, from hub token create --role agent."
}

variable "repository" {
  type        = string
  default     = ""
  description = "A git URL that is cloned into the project's directory when a workspace is new."
}

data "coder_provisioner" "me" {}
data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}

locals {
  home    = "/home/coder"
  project = "/home/coder/project"
  waymark_env = {
    local = {}
    hub = {
      WAYMARK_HUB_URL   = var.waymark_hub_url
      WAYMARK_HUB_TOKEN = var.waymark_hub_token
    }
    # Never the token of coder_agent.main: its context rows belong to Coder's
    # own agent, and two writers of the same rows only get in each other's way.
    coder = {
      WAYMARK_CODER_TOKEN = try(coder_agent.context[0].token, "")
    }
  }
}

resource "coder_agent" "main" {
  arch = data.coder_provisioner.me.arch
  os   = "linux"
  dir  = local.project
}

# An identity of Waymark's own, whose rows nobody else writes.
resource "coder_agent" "context" {
  count = var.waymark_target == "coder" ? 1 : 0
  arch  = data.coder_provisioner.me.arch
  os    = "linux"
}

resource "coder_script" "waymark" {
  agent_id     = coder_agent.main.id
  display_name = "Waymark"
  run_on_start = true
  script       = "exec waymark-start"
}

resource "docker_image" "workspace" {
  name = "waymark-workspace-${data.coder_workspace.me.id}"
  build {
    context = "${path.module}/build"
  }
  triggers = {
    build = sha1(join("", [for f in sort(fileset("${path.module}/build", "**")) : filesha1("${path.module}/build/${f}")]))
  }
}

resource "docker_volume" "home" {
  name = "coder-${data.coder_workspace.me.id}-home"
  lifecycle {
    ignore_changes = all
  }
}

resource "docker_container" "workspace" {
  count      = data.coder_workspace.me.start_count
  image      = docker_image.workspace.image_id
  name       = "coder-${data.coder_workspace_owner.me.name}-${lower(data.coder_workspace.me.name)}"
  hostname   = data.coder_workspace.me.name
  entrypoint = ["sh", "-c", replace(coder_agent.main.init_script, "/localhost|127\\.0\\.0\\.1/", "host.docker.internal")]
  env = concat(
    [
      "CODER_AGENT_TOKEN=${coder_agent.main.token}",
      "WAYMARK_TARGET=${var.waymark_target}",
      "WAYMARK_ROOT=${local.project}",
      "WAYMARK_REPOSITORY=${var.repository}",
    ],
    [for name, value in local.waymark_env[var.waymark_target] : "${name}=${value}"],
  )
  host {
    host = "host.docker.internal"
    ip   = "host-gateway"
  }
  volumes {
    container_path = local.home
    volume_name    = docker_volume.home.name
  }
}
